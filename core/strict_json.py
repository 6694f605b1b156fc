"""JSON whose numbers are numbers to every reader: Python by itself takes NaN, and makes an infinity of a large one."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn


def loads(text: str | bytes) -> Any:
    """Raises ValueError with the reason, or RecursionError."""
    return json.loads(text, parse_constant=_no_number, parse_float=_number, parse_int=_whole)


def _number(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)


def _whole(text: str) -> int:
    _number(text)
    return int(text)


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text[:40]} is no number in JSON")

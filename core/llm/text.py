"""Make text and JSON from outside safe to store and to read.

PostgreSQL stores no NUL and no half of a character, and Python by itself reads NaN and makes an infinity of a large
number.
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn


def clean_text(content: object) -> str:
    """Text of a content field: a string or a list of parts; anything else is empty."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str))
    return _fit(content) if isinstance(content, str) else ""


def clean_json(text: str) -> str:
    """JSON text whose strings are fit too once they are read; what is no JSON comes back as it is."""
    if "\\u" not in text:
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    fit = _fit_all(value)
    return text if fit == value else json.dumps(fit, ensure_ascii=False)


def _fit(text: str) -> str:
    return text.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")


def _fit_all(value: Any) -> Any:
    match value:
        case str():
            return _fit(value)
        case list():
            return [_fit_all(one) for one in value]
        case dict():
            return {_fit(key): _fit_all(one) for key, one in value.items()}
        case _:
            return value


def load_strict_json(text: str | bytes) -> Any:
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

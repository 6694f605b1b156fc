"""Text and JSON from outside, made safe to store and to read.

PostgreSQL stores neither NUL nor lone surrogates. Python's JSON reader accepts NaN and reads large numbers as infinite.
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn


def clean_text(content: object) -> str:
    """Return the text of a content field, which is a string or a list of parts; anything else is empty."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str))
    return _clean(content) if isinstance(content, str) else ""


def clean_json(text: str) -> str:
    """Clean the strings inside JSON text; text that is not JSON is returned as it is."""
    if "\\u" not in text:
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    cleaned = _clean_values(value)
    return text if cleaned == value else json.dumps(cleaned, ensure_ascii=False)


def _clean(text: str) -> str:
    return text.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")


def _clean_values(value: Any) -> Any:
    match value:
        case str():
            return _clean(value)
        case list():
            return [_clean_values(one) for one in value]
        case dict():
            return {_clean(key): _clean_values(one) for key, one in value.items()}
        case _:
            return value


def load_strict_json(text: str | bytes) -> Any:
    """Read JSON without NaN and infinities; raises ValueError with the reason, or RecursionError."""
    return json.loads(text, parse_constant=_refuse_number, parse_float=_parse_float, parse_int=_parse_int)


def _parse_float(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse_number(text)


def _parse_int(text: str) -> int:
    # Refuses an integer that is infinite as a float, as other readers would take it.
    _parse_float(text)
    return int(text)


def _refuse_number(text: str) -> NoReturn:
    raise ValueError(f"{text[:40]} is not a number in JSON")

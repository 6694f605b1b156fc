"""Functions and methods that an expression may call."""

import base64
import binascii
from collections.abc import Callable
from typing import Any

import re2

from engine.expressions import comparison
from engine.formats.clock import MachineClock, MillisecondClock, parse_duration, parse_time, rfc3339
from engine.formats.json_text import loads

_CLOCK: MillisecondClock = MachineClock()


def _size(value: Any) -> int:
    return len(value) if isinstance(value, (str, list, dict)) else 0


def _b64decode(value: Any) -> str | None:
    try:
        return base64.b64decode(comparison.text(value)).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def _json_parse(value: Any) -> Any:
    try:
        return loads(comparison.text(value))
    except ValueError:
        return None


def _date(value: Any) -> str | None:
    """Write a time (text, or a number of milliseconds) in RFC 3339, so that dates can be compared as text."""
    if (moment := comparison.number(value)) is not None:
        return rfc3339(int(moment))
    try:
        return rfc3339(parse_time(comparison.text(value)))
    except ValueError:
        return None


def _shift_now(sign: int) -> Callable[[Any], str | None]:
    def shift(duration: Any) -> str | None:
        try:
            return rfc3339(_CLOCK.now_ms() + sign * parse_duration(comparison.text(duration)))
        except ValueError:
            return None

    return shift


def _int(value: Any) -> int | None:
    found = comparison.number(value)
    return None if found is None else int(found)


def _double(value: Any) -> float | None:
    found = comparison.number(value)
    return None if found is None else float(found)


def _matches(value: Any, pattern: Any) -> bool:
    try:
        return re2.search(comparison.text(pattern), comparison.text(value)) is not None
    except re2.error:
        return False


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "size": _size,
    "string": comparison.text,
    "int": _int,
    "uint": _int,
    "double": _double,
    "bool": comparison.truthy,
    "uppercase": lambda value: comparison.text(value).upper(),
    "lowercase": lambda value: comparison.text(value).lower(),
    "b64decode": _b64decode,
    "json_parse": _json_parse,
    "date": _date,
    "timestamp": _date,
    "now": lambda: rfc3339(_CLOCK.now_ms()),
    "now_plus": _shift_now(1),
    "now_minus": _shift_now(-1),
}

METHODS: dict[str, Callable[..., Any]] = {
    "size": _size,
    "contains": lambda value, part: comparison.text(part) in comparison.text(value),
    "startsWith": lambda value, part: comparison.text(value).startswith(comparison.text(part)),
    "endsWith": lambda value, part: comparison.text(value).endswith(comparison.text(part)),
    "matches": _matches,
    "lowerAscii": lambda value: comparison.text(value).lower(),
    "upperAscii": lambda value: comparison.text(value).upper(),
}

"""The functions and methods an expression may call."""

import base64
import binascii
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import re2

from engine.clock import Clock, SystemClock, rfc3339, to_ms
from engine.durations import parse_duration
from engine.expressions import loose
from engine.json_text import loads

_CLOCK: Clock = SystemClock()


def _size(value: Any) -> int:
    return len(value) if isinstance(value, (str, list, dict)) else 0


def _b64decode(value: Any) -> str | None:
    try:
        return base64.b64decode(loose.text(value)).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def _json_parse(value: Any) -> Any:
    try:
        return loads(loose.text(value))
    except ValueError:
        return None


def _date(value: Any) -> str | None:
    """The instant in RFC 3339, so that dates compare as text; numbers are milliseconds."""
    if (moment := loose.number(value)) is not None:
        return rfc3339(int(moment))
    try:
        parsed = datetime.fromisoformat(loose.text(value))
    except ValueError:
        return None
    return rfc3339(to_ms(parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)))


def _shifted(sign: int) -> Callable[[Any], str | None]:
    def shift(duration: Any) -> str | None:
        try:
            return rfc3339(_CLOCK.now_ms() + sign * parse_duration(loose.text(duration)))
        except ValueError:
            return None

    return shift


def _int(value: Any) -> int | None:
    found = loose.number(value)
    return None if found is None else int(found)


def _double(value: Any) -> float | None:
    found = loose.number(value)
    return None if found is None else float(found)


def _matches(value: Any, pattern: Any) -> bool:
    try:
        return re2.search(loose.text(pattern), loose.text(value)) is not None
    except re2.error:
        return False


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "size": _size,
    "string": loose.text,
    "int": _int,
    "uint": _int,
    "double": _double,
    "bool": loose.truthy,
    "uppercase": lambda value: loose.text(value).upper(),
    "lowercase": lambda value: loose.text(value).lower(),
    "b64decode": _b64decode,
    "json_parse": _json_parse,
    "date": _date,
    "timestamp": _date,
    "now": lambda: rfc3339(_CLOCK.now_ms()),
    "now_plus": _shifted(1),
    "now_minus": _shifted(-1),
}

METHODS: dict[str, Callable[..., Any]] = {
    "size": _size,
    "contains": lambda value, part: loose.text(part) in loose.text(value),
    "startsWith": lambda value, part: loose.text(value).startswith(loose.text(part)),
    "endsWith": lambda value, part: loose.text(value).endswith(loose.text(part)),
    "matches": _matches,
    "lowerAscii": lambda value: loose.text(value).lower(),
    "upperAscii": lambda value: loose.text(value).upper(),
}

"""JSON as text: how values are stored, sized and canonicalised."""

import json
import math
import re
from typing import Any, NoReturn

import jcs

Json = Any
"""A value that came out of JSON."""

# A fraction, an exponent, an integer beyond 2^53, or a character that sorts differently in UTF-16.
_NEEDS_CANONICALISING = re.compile(r"(?:^|[:,\[])-?(?:\d+[.eE]|\d{16})|[\U00010000-\U0010ffff]")


def loads(text: str | bytes) -> Json:
    """Parse strict JSON.

    Raises:
        ValueError: not JSON, or NaN or an infinity in it, or a number that would become one.
    """
    return json.loads(text, parse_constant=_refuse, parse_float=_finite)


def _finite(text: str) -> float:
    if math.isinf(number := float(text)):
        raise ValueError(f"{text[:20]} is larger than any number can be")
    return number


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def dumps(value: Json) -> str:
    """Compact JSON with sorted keys; a lone surrogate, which no one could sign or store, becomes U+FFFD."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def clean_text(text: str) -> str:
    """Text that every database takes: no lone surrogate, no NUL."""
    if text.isascii():
        return text.replace("\0", "\ufffd")
    return text.replace("\0", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def canonicalise(text: str) -> bytes:
    """The JCS form (RFC 8785) of text made by `dumps` or of such texts put together with sorted keys."""
    if _NEEDS_CANONICALISING.search(text):
        result: bytes = jcs.canonicalize(json.loads(text))
        return result
    return text.encode()

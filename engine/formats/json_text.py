"""JSON text: read, written with sorted keys, cleaned for databases and canonicalised for signatures."""

import json
import math
import re
from typing import Any, NoReturn

import jcs

Json = Any
"""Any value that JSON can express."""

# A fraction, an exponent, an integer beyond 2^53, or a character that sorts differently in UTF-16.
_NEEDS_CANONICALISING = re.compile(r"(?:^|[:,\[])-?(?:\d+[.eE]|\d{16})|[\U00010000-\U0010ffff]")


def loads(text: str | bytes) -> Json:
    """Parse strict JSON.

    Raises:
        ValueError: not JSON, or it contains NaN, an infinity or a number too large for a float.
    """
    return json.loads(text, parse_constant=_refuse, parse_float=_finite)


def _finite(text: str) -> float:
    if math.isinf(number := float(text)):
        raise ValueError(f"{text[:20]} is too large a number")
    return number


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def dumps(value: Json) -> str:
    """Write compact JSON with sorted keys; lone surrogates, which cannot be encoded, become U+FFFD."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def clean_text(text: str) -> str:
    """Replace what databases do not accept in text, lone surrogates and NUL, by U+FFFD."""
    if text.isascii():
        return text.replace("\0", "\ufffd")
    return text.replace("\0", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def canonicalise(text: str) -> bytes:
    """Return the canonical form (JCS, RFC 8785) of text from `dumps`, or of such texts joined with sorted keys."""
    if _NEEDS_CANONICALISING.search(text):
        result: bytes = jcs.canonicalize(json.loads(text))
        return result
    return text.encode()

"""Signatures of calls between an engine and the functions that it calls."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

import jcs

from core.orchestrator.engine import bare_key

SIGNATURE_HEADER = "x-inngest-signature"
MAX_AGE = timedelta(seconds=300)
_MAX_DIGITS = 16
# Characters that sort differently in UTF-16.
_BEYOND = re.compile("[\U00010000-\U0010ffff]")
_FORM = re.compile(r"t=([0-9]{1,12})&s=([0-9a-f]{64})")


def sign_body(key: str, signed: bytes, at: datetime) -> str:
    """Make the signature header of a body in canonical form, or of the raw bytes of an answer."""
    moment = str(int(at.timestamp()))
    return f"t={moment}&s={_digest(key, signed, moment)}"


def canonical_body(body: bytes) -> bytes:
    """Return the form of a body that is signed: RFC 8785, empty for an empty body. Raises ValueError if it has none."""
    if not body:
        return b""
    numbers = _Numbers()
    value = json.loads(
        body, parse_constant=_refuse_number, parse_float=numbers.parse_float, parse_int=numbers.parse_int
    )
    if not numbers.plain:
        return _canonicalise(value)
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return text.encode() if text.isascii() or _BEYOND.search(text) is None else _canonicalise(value)


class _Numbers:
    """Parses numbers; `plain` stays true while all are integers that every language writes in the same way."""

    def __init__(self) -> None:
        self.plain = True

    def parse_float(self, text: str) -> float:
        self.plain = False
        return float(text)

    def parse_int(self, text: str) -> int:
        self.plain = self.plain and len(text) < _MAX_DIGITS
        return int(text)


def _canonicalise(value: Any) -> bytes:
    # Slow, since it is pure Python: for the body of a long run it costs more than the rest of a call.
    form: bytes = jcs.canonicalize(value)
    return form


def find_signing_key(keys: Iterable[str], body: bytes, header: str, now: datetime) -> str | None:
    """Return the key that signed this body at most five minutes before or after `now`, or None.

    A call may be repeated within that time; a step that runs twice finds the row of its first run.
    """
    found = _FORM.fullmatch(header)
    if found is None:
        return None
    moment, given = found.groups()
    if abs(now.timestamp() - int(moment)) > MAX_AGE.total_seconds():
        return None
    try:
        signed = canonical_body(body)
    except (ValueError, OverflowError, RecursionError):
        return None
    return next((key for key in keys if hmac.compare_digest(_digest(key, signed, moment), given)), None)


def clock_difference(header: str, now: datetime) -> timedelta | None:
    """Return how far a header's time is from `now` if that is too far, else None; negative means before."""
    found = _FORM.fullmatch(header)
    if found is None:
        return None
    off = timedelta(seconds=int(found[1]) - int(now.timestamp()))
    return off if abs(off) > MAX_AGE else None


def _digest(key: str, signed: bytes, moment: str) -> str:
    return hmac.new(bare_key(key).encode(), signed + moment.encode(), hashlib.sha256).hexdigest()


def _refuse_number(name: str) -> Any:
    raise ValueError(f"{name} has no canonical form")

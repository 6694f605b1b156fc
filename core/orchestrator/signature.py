"""Sign and verify calls between an engine and the functions that it calls."""

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
_MOST_DIGITS = 16
# Characters that sort otherwise in UTF-16.
_BEYOND = re.compile("[\U00010000-\U0010ffff]")
_FORM = re.compile(r"t=([0-9]{1,12})&s=([0-9a-f]{64})")


def sign_body(key: str, signed: bytes, at: datetime) -> str:
    """The header's value over a body in canonical form, or over the raw bytes of an answer."""
    moment = str(int(at.timestamp()))
    return f"t={moment}&s={_digest(key, signed, moment)}"


def canonical_body(body: bytes) -> bytes:
    """The form that is signed: RFC 8785, and nothing for an empty body. Raises ValueError for what has none."""
    if not body:
        return b""
    numbers = _Numbers()
    value = json.loads(body, parse_constant=_no_number, parse_float=numbers.parse_float, parse_int=numbers.parse_int)
    if not numbers.plain:
        return _slowly(value)
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return text.encode() if text.isascii() or _BEYOND.search(text) is None else _slowly(value)


class _Numbers:
    """`plain` while all numbers were integers that every language writes alike."""

    def __init__(self) -> None:
        self.plain = True

    def parse_float(self, text: str) -> float:
        self.plain = False
        return float(text)

    def parse_int(self, text: str) -> int:
        self.plain = self.plain and len(text) < _MOST_DIGITS
        return int(text)


def _slowly(value: Any) -> bytes:
    # Written in Python all through: for the body of a long run it costs more than the rest of a call.
    form: bytes = jcs.canonicalize(value)
    return form


def find_signing_key(keys: Iterable[str], body: bytes, header: str, now: datetime) -> str | None:
    """Which of the keys signed this body at most five minutes before or after `now`; None when none did.

    The same call may come twice within that time: a step that runs twice finds its own row.
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
    """How far from `now` a header says that it was made, where that is too far; negative for before."""
    found = _FORM.fullmatch(header)
    if found is None:
        return None
    off = timedelta(seconds=int(found[1]) - int(now.timestamp()))
    return off if abs(off) > MAX_AGE else None


def _digest(key: str, signed: bytes, moment: str) -> str:
    return hmac.new(bare_key(key).encode(), signed + moment.encode(), hashlib.sha256).hexdigest()


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} has no canonical form")

"""Signatures on calls between an engine and the functions it calls."""

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

HEADER = "x-inngest-signature"
MAX_AGE = timedelta(seconds=300)
_FORM = re.compile(r"t=([0-9]{1,12})&s=([0-9a-f]{64})")


def sign(key: str, signed: bytes, at: datetime) -> str:
    """The header's value over a body in canonical form, or over the raw bytes of an answer."""
    moment = str(int(at.timestamp()))
    return f"t={moment}&s={_digest(key, signed, moment)}"


def canonical(body: bytes) -> bytes:
    """The form that is signed: RFC 8785, and nothing for an empty body. Raises ValueError for what has none."""
    if not body:
        return b""
    form: bytes = jcs.canonicalize(json.loads(body, parse_constant=_no_number))
    return form


def is_valid(keys: Iterable[str], body: bytes, header: str, now: datetime) -> bool:
    """Whether one of the keys signed this body at most five minutes before or after `now`.

    The same call may come twice within that time: a step that runs twice finds its own row.
    """
    found = _FORM.fullmatch(header)
    if found is None:
        return False
    moment, given = found.groups()
    if abs(now.timestamp() - int(moment)) > MAX_AGE.total_seconds():
        return False
    try:
        signed = canonical(body)
    except (ValueError, OverflowError, RecursionError):
        return False
    return any(hmac.compare_digest(_digest(key, signed, moment), given) for key in keys)


def _digest(key: str, signed: bytes, moment: str) -> str:
    return hmac.new(bare_key(key).encode(), signed + moment.encode(), hashlib.sha256).hexdigest()


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} has no canonical form")

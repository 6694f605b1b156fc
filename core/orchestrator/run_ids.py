"""What the id of a run tells: every engine makes it of the moment at which the run was queued."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_TIME = 10


def queued_at(run_id: str) -> datetime | None:
    """When the run was queued; None for an id in another form."""
    if not _ULID.fullmatch(run_id):
        return None
    milliseconds = 0
    for char in run_id[:_TIME]:
        milliseconds = milliseconds * 32 + _ALPHABET.index(char)
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (OverflowError, ValueError):
        return None

"""Retry policy: when a failed call is tried again."""

import math
import random
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_SCHEDULE_S = (15, 30, 60, 120, 300, 600, 1200, 2400, 3600, 7200)
_JITTER_MS = 30_000
_MIN_WAIT_MS = 1_000
_MAX_WAIT_MS = 86_400_000


def backoff_ms(attempt: int, interval_s: float | None) -> int:
    """Return the wait after the failure of `attempt` (from 0); `interval_s` replaces the schedule and its jitter."""
    if interval_s is not None:
        return round(interval_s * 1000)
    base = _SCHEDULE_S[min(attempt, len(_SCHEDULE_S) - 1)] * 1000
    return base + random.randint(0, _JITTER_MS)


def retry_after_ms(value: str, now_ms: int) -> int | None:
    """Read a `Retry-After` header (seconds, RFC 3339 or HTTP date) as a time 1 s to 24 h from now, or None."""
    wait = _read_wait(value.strip(), now_ms)
    return None if wait is None else now_ms + min(max(wait, _MIN_WAIT_MS), _MAX_WAIT_MS)


def _read_wait(value: str, now_ms: int) -> int | None:
    try:
        seconds = float(value)
    except ValueError:
        pass
    else:
        return round(seconds * 1000) if math.isfinite(seconds * 1000) else None
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            moment = read(value)
        except (ValueError, OverflowError):
            continue
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return round(moment.timestamp() * 1000) - now_ms
    return None

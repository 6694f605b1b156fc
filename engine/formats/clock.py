"""Time in whole milliseconds since the epoch, UTC, and durations as Inngest writes them: `30s`, `1h30m`, `7d`."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from typing import Protocol

_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w)")


class MillisecondClock(Protocol):
    """A clock; the engine reads the time from nowhere else."""

    def now_ms(self) -> int:
        """Return the milliseconds since 1970-01-01T00:00:00Z."""
        ...


class MachineClock:
    """The machine's clock."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000


def to_datetime(ms: int) -> datetime:
    """Convert milliseconds to an aware UTC datetime."""
    return datetime.fromtimestamp(ms / 1000, UTC)


def to_ms(moment: datetime) -> int:
    """Convert an aware datetime to milliseconds."""
    return round(moment.timestamp() * 1000)


def rfc3339(ms: int) -> str:
    """Format a time with milliseconds and a `Z`, as in Inngest's JSON."""
    return to_datetime(ms).strftime("%Y-%m-%dT%H:%M:%S.") + f"{ms % 1000:03d}Z"


def parse_time(text: str) -> int:
    """Read an ISO 8601 time in milliseconds; one without a time zone is UTC.

    Raises:
        ValueError: the text is not a time.
    """
    moment = datetime.fromisoformat(text)
    return to_ms(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def parse_duration(text: str) -> int:
    """Read a duration, such as `1h30m`, in milliseconds.

    Raises:
        ValueError: the text is not a duration.
    """
    total, end = 0.0, 0
    for match in _PART.finditer(text):
        if match.start() != end:
            break
        total += float(match[1]) * _UNITS[match[2]]
        end = match.end()
    if not text or end != len(text):
        raise ValueError(f"{text!r} is not a duration such as 30s, 5m or 1h30m")
    return round(total)

"""Time as the engine sees it: whole milliseconds since the epoch, UTC."""

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Where every part of the engine reads the time."""

    def now_ms(self) -> int:
        """Milliseconds since 1970-01-01T00:00:00Z."""
        ...


class SystemClock:
    """The machine's clock."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000


def to_datetime(ms: int) -> datetime:
    """The same instant as an aware UTC datetime."""
    return datetime.fromtimestamp(ms / 1000, UTC)


def to_ms(moment: datetime) -> int:
    """Milliseconds since the epoch of an aware datetime."""
    return round(moment.timestamp() * 1000)


def rfc3339(ms: int) -> str:
    """The instant with milliseconds and a `Z`, as Inngest's JSON has it."""
    return to_datetime(ms).strftime("%Y-%m-%dT%H:%M:%S.") + f"{ms % 1000:03d}Z"

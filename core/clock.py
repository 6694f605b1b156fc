"""Clocks: the port, the system's clock, and a stopped clock for tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Protocol

# Not by strftime, which writes the language of the machine.
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class Clock(Protocol):
    """A source of the time, as an aware UTC datetime."""

    def now(self) -> datetime: ...


class SystemClock:
    """The clock of the machine."""

    def now(self) -> datetime:
        return datetime.now(UTC)


def to_local_minute(at: datetime, zone: tzinfo) -> str:
    """Return a time as models are shown it: in a person's zone, to the minute."""
    return at.astimezone(zone).isoformat(timespec="minutes")


def describe_now(now: datetime, zone: tzinfo) -> dict[str, str]:
    """Describe the present to a model: `time`, `weekday` and `zone`, so that it understands "by Friday"."""
    local = now.astimezone(zone)
    return {"time": to_local_minute(now, zone), "weekday": _WEEKDAYS[local.weekday()], "zone": str(zone)}


class StoppedClock:
    """A clock that moves only when a test advances it."""

    def __init__(self, at: datetime) -> None:
        if at.tzinfo is None:
            raise ValueError(f"a clock needs a time with a zone, not {at!r}")
        self._at = at.astimezone(UTC)

    def now(self) -> datetime:
        return self._at

    def advance(self, by: timedelta) -> None:
        """Move the clock forward."""
        self._at += by

"""When a skill's schedules fire next, for people to read; the engine alone fires them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from croniter import CroniterError, croniter

FIELDS = 5


def zone_and_fields(cron: str) -> tuple[ZoneInfo | None, list[str]]:
    """A schedule's zone, UTC where it names none, and its fields; no zone where it names one that nobody knows."""
    fields = cron.split()
    name = "UTC"
    if fields and fields[0].startswith(("TZ=", "CRON_TZ=")):
        name = fields.pop(0).partition("=")[2]
    try:
        return ZoneInfo(name), fields
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None, fields


def next_times(cron: str, after: datetime, count: int = 3) -> list[datetime]:
    """The next times of one schedule, in UTC; none for one that cannot be read."""
    zone, fields = zone_and_fields(cron)
    if zone is None or len(fields) != FIELDS:
        return []
    try:
        walk = croniter(" ".join(fields), after.astimezone(zone).replace(tzinfo=None))
        local = [walk.get_next(datetime) for _ in range(count)]
    except (CroniterError, ValueError):
        return []
    return [moment.replace(tzinfo=zone).astimezone(UTC) for moment in local]


def next_of(triggers: Iterable[Mapping[str, Any]], after: datetime, count: int = 3) -> list[datetime]:
    """The next times of all schedules among these triggers, soonest first."""
    times = {at for trigger in triggers if "cron" in trigger for at in next_times(str(trigger["cron"]), after, count)}
    return sorted(times)[:count]

"""What a schedule's text says: its zone and its fields."""

from __future__ import annotations

from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

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

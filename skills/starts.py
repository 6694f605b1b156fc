"""The start guard: a daily schedule begins one run a local date, also where clocks change or an engine restarts.

A schedule is known by its function and its text. Two daily schedules of one function each begin their own run of the
date, and one that is moved to another hour is another schedule: it begins a run at that hour, also on the date of the
move.
"""

from __future__ import annotations

from datetime import datetime

from croniter import croniter

from core.database import Scope
from skills.schedule import FIELDS, zone_and_fields
from skills.tables import skill_starts


def local_date(cron: str, at: datetime) -> str | None:
    """The date of `at` in the schedule's zone, as ISO 8601; None for a schedule that may fire twice a day."""
    zone, fields = zone_and_fields(cron)
    if zone is None or len(fields) != FIELDS:
        return None
    try:
        minutes, hours, *_ = croniter.expand(" ".join(fields))[0]
    except (ValueError, KeyError):
        return None
    if len(minutes) > 1 or len(hours) > 1 or "*" in (*minutes, *hours):
        return None
    return at.astimezone(zone).date().isoformat()


def admit(scope: Scope, stem: str, function_id: str, cron: str, local_date: str, run_id: str) -> bool:
    """Whether this run of the schedule may begin on that date: the first one may, and it may again."""
    schedule = " ".join(cron.split())
    named = {"skill_id": stem, "function_id": function_id, "schedule": schedule, "local_date": local_date}
    if scope.insert_new(skill_starts, **named, run_id=run_id, at=scope.now):
        return True
    first = scope.scalar(
        scope.select(skill_starts.c.run_id).where(
            skill_starts.c.skill_id == stem,
            skill_starts.c.function_id == function_id,
            skill_starts.c.schedule == schedule,
            skill_starts.c.local_date == local_date,
        )
    )
    return bool(first == run_id)

"""Claim the start of a scheduled run, so that a daily schedule runs once per local date despite DST and restarts.

A schedule is identified by its function and the times it names, however they are written. Two daily schedules of one
function each get a run per date. A schedule that is moved to another hour counts as a new one, and runs at that hour
even on the date of the move. A schedule with several hours runs once in the hour that is repeated when clocks go back;
an hourly schedule runs in both.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from core.database import Scope
from skills.format.schedule import read_schedule
from skills.tables import skill_starts


@dataclass(frozen=True)
class ScheduledStart:
    """A run that may begin once: `schedule` is the normalized cron text, `date` the ISO 8601 date in its zone."""

    schedule: str
    date: str


def find_start(cron: str, at: datetime) -> ScheduledStart | None:
    """Return the start that a tick at this moment claims; None if it may fire again or the schedule is invalid."""
    try:
        schedule = read_schedule(cron)
    except ValueError:
        return None
    local = at.astimezone(schedule.zone)
    if schedule.is_daily:
        return ScheduledStart(schedule.text, local.date().isoformat())
    if schedule.is_of_every_hour or not _comes_twice(local):
        return None
    return ScheduledStart(schedule.at(local.hour, local.minute).text, local.date().isoformat())


def _comes_twice(local: datetime) -> bool:
    first, second = (local.replace(fold=fold).utcoffset() for fold in (0, 1))
    return first is not None and second is not None and first > second


def claim_start(scope: Scope, stem: str, function_id: str, start: ScheduledStart, run_id: str) -> bool:
    """Return whether this run may begin on that date: only the first run to ask may, and it may ask again."""
    named = {
        "skill_id": stem,
        "function_id": function_id,
        "schedule": start.schedule,
        "local_date": start.date,
    }
    if scope.insert_new(skill_starts, **named, run_id=run_id, at=scope.now):
        return True
    first = scope.scalar(
        scope.select(skill_starts.c.run_id).where(*(skill_starts.c[name] == value for name, value in named.items()))
    )
    return bool(first == run_id)

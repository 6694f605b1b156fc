"""Schedule claims: a daily schedule begins one run a local date, also where clocks change or an engine restarts.

A schedule is known by its function and its moments, in whatever words they are written. Two daily schedules of one
function each begin their own run of the date, and one that is moved to another hour is another schedule: it begins a
run at that hour, also on the date of the move. One with several hours of its own is one of each of them in the hour
that comes twice when clocks go back; one of every hour keeps its pace.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from core.database import Scope
from skills.format.schedule import read_schedule
from skills.tables import skill_starts


@dataclass(frozen=True)
class ScheduledStart:
    """What a daily schedule may begin once: `schedule` in its plain words, `date` in its zone, as ISO 8601."""

    schedule: str
    date: str


def find_start(cron: str, at: datetime) -> ScheduledStart | None:
    """What a tick of that moment begins, if only once; None where it may fire again, or the schedule cannot be read."""
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
    """Whether this run of the schedule may begin on that date: the first one may, and it may again."""
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

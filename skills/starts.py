"""The start guard: a daily schedule begins one run a local date, also where clocks change or an engine restarts.

A schedule is known by its function and its moments, in whatever words they are written. Two daily schedules of one
function each begin their own run of the date, and one that is moved to another hour is another schedule: it begins a
run at that hour, also on the date of the move.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from core.database import Scope
from skills.schedule import read_schedule
from skills.tables import skill_starts


@dataclass(frozen=True)
class Start:
    """What a daily schedule may begin once: `schedule` in its plain words, `date` in its zone, as ISO 8601."""

    schedule: str
    date: str


def daily_start(cron: str, at: datetime) -> Start | None:
    """What a tick of that moment begins; None for a schedule that may fire twice a day, or that nobody can read."""
    try:
        schedule = read_schedule(cron)
    except ValueError:
        return None
    if not schedule.is_daily:
        return None
    return Start(schedule.text, at.astimezone(schedule.zone).date().isoformat())


def admit(scope: Scope, stem: str, function_id: str, start: Start, run_id: str) -> bool:
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

"""Count the runs of a skill by day and status."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

import sqlalchemy as sa

from core.database import Scope
from skills.book.runs import SKIPPED
from skills.tables import skill_runs


@dataclass(frozen=True)
class RunDay:
    """Runs that began on a local date; `other` ones were cancelled or lost, or are still running."""

    date: date
    completed: int
    failed: int
    other: int

    @property
    def runs(self) -> int:
        """How many runs began on the day."""
        return self.completed + self.failed + self.other


def count_runs_by_day(scope: Scope, stem: str, zone: tzinfo, count: int = 14) -> list[RunDay]:
    """Count the runs of the last `count` days, oldest first, without failure handlers and skipped runs."""
    today = scope.now.astimezone(zone).date()
    return [_day(scope, stem, zone, today - timedelta(days=back)) for back in reversed(range(count))]


def _day(scope: Scope, stem: str, zone: tzinfo, day: date) -> RunDay:
    query = (
        scope.select(skill_runs.c.status, sa.func.count(skill_runs.c.run_id).label("n"))
        .where(
            skill_runs.c.skill_id == stem,
            skill_runs.c.began_at >= _midnight(day, zone),
            skill_runs.c.began_at < _midnight(day + timedelta(days=1), zone),
            skill_runs.c.stage != SKIPPED,
            sa.not_(skill_runs.c.handler),
        )
        .group_by(skill_runs.c.status)
    )
    counted = {row.status: int(row.n) for row in scope.rows(query)}
    completed, failed = counted.pop("completed", 0), counted.pop("failed", 0)
    return RunDay(day, completed, failed, sum(counted.values()))


def _midnight(day: date, zone: tzinfo) -> datetime:
    return datetime.combine(day, time(), zone).astimezone(UTC)

"""Ticks of schedules that ran late or were skipped."""

from collections.abc import Sequence

from sqlalchemy import Connection, select

from engine.rows import Row
from engine.tables import missed


def latest_missed(connection: Connection, limit: int, function_id: str | None = None) -> list[Row]:
    """What was missed last, of one function or of all; newest first."""
    statement = select(missed).order_by(missed.c.seq.desc()).limit(limit)
    if function_id is not None:
        statement = statement.where(missed.c.function_id == function_id)
    return list(connection.execute(statement))


def late_runs(connection: Connection, run_ids: Sequence[str]) -> dict[str, int]:
    """When those of these runs that began late had been due."""
    if not run_ids:
        return {}
    statement = select(missed.c.run_id, missed.c.last_at).where(missed.c.run_id.in_(run_ids))
    return {row.run_id: row.last_at for row in connection.execute(statement)}

"""List of runs by function, status and time, newest first, page by page.

A run's id begins with the time at which it was queued, so ids are in the order of time. Every query is a few seeks in
the indexes (id), (function, id) or (function, status, id) and reads at most a page per function and status.
`history.runs` serves the APIs, which also filter by other times.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, func, select

from engine.formats.ids import ulid
from engine.rows import Row
from engine.storage.tables import run_events, runs

RUNS_PER_PAGE = 50
_NO_ENTROPY = bytes(10)
_COLUMNS: list[Column[Any]] = [
    runs.c.id,
    runs.c.function_id,
    runs.c.event_id,
    runs.c.event_name,
    runs.c.cron,
    runs.c.batch_id,
    runs.c.status,
    runs.c.queued_at,
    runs.c.started_at,
    runs.c.ended_at,
]


@dataclass(frozen=True)
class RunFilter:
    """Runs of these functions (None: all) and this status, queued in [since, until), with an id below `before`."""

    functions: Sequence[str] | None = None
    status: str | None = None
    since: int | None = None
    until: int | None = None
    before: str | None = None


def find_runs(
    connection: Connection, run_filter: RunFilter, known: Sequence[str], limit: int = RUNS_PER_PAGE
) -> tuple[list[Row], str | None]:
    """Return a page and the `before` of the next page, None at the end; `known` are the ids of all functions."""
    found: list[Row] = []
    for conditions in _seeks(run_filter, known):
        statement = (
            select(*_COLUMNS).where(*conditions, *_bounds(run_filter)).order_by(runs.c.id.desc()).limit(limit + 1)
        )
        found.extend(connection.execute(statement))
    found.sort(key=lambda row: str(row.id), reverse=True)
    return found[:limit], found[limit - 1].id if len(found) > limit else None


def list_event_runs(connection: Connection, event_id: str, limit: int = RUNS_PER_PAGE) -> list[Row]:
    """Return the runs that an event started, alone or in a batch, oldest first."""
    alone = select(runs.c.id).where(runs.c.event_id == event_id).limit(limit)
    batched = select(run_events.c.run_id).where(run_events.c.event_id == event_id).limit(limit)
    ids = {row[0] for statement in (alone, batched) for row in connection.execute(statement)}
    return list(connection.execute(select(*_COLUMNS).where(runs.c.id.in_(ids)).order_by(runs.c.id)))


def count_runs(connection: Connection, status: str, known: Sequence[str], limit: int) -> int:
    """Count the runs with this status, up to `limit`."""
    matching = select(runs.c.id).where(runs.c.function_id.in_(known), runs.c.status == status).limit(limit)
    return connection.execute(select(func.count()).select_from(matching.subquery())).scalar_one()


def _seeks(run_filter: RunFilter, known: Sequence[str]) -> Iterator[list[ColumnElement[bool]]]:
    if run_filter.functions is None and run_filter.status is None:
        yield []
        return
    for function_id in known if run_filter.functions is None else run_filter.functions:
        conditions = [runs.c.function_id == function_id]
        yield conditions if run_filter.status is None else [*conditions, runs.c.status == run_filter.status]


def _bounds(run_filter: RunFilter) -> Iterator[ColumnElement[bool]]:
    if run_filter.since is not None:
        yield runs.c.id >= ulid(run_filter.since, _NO_ENTROPY)
    if run_filter.until is not None:
        yield runs.c.id < ulid(run_filter.until, _NO_ENTROPY)
    if run_filter.before is not None:
        yield runs.c.id < run_filter.before

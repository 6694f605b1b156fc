"""Runs by function, status and time, newest first, a page at a time.

A run's id begins with the time it was queued, so its order is that of time, and every question is a few seeks in
(id), (function, id) or (function, status, id): no answer reads more than a page per function and status asked for.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, func, select

from engine.formats.ids import ulid
from engine.rows import Row
from engine.storage.tables import run_events, runs

RUNS_PER_PAGE = 50
_NONE = bytes(10)
_FACTS: list[Column[Any]] = [
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
    connection: Connection, wanted: RunFilter, known: Sequence[str], limit: int = RUNS_PER_PAGE
) -> tuple[list[Row], str | None]:
    """The page and the `before` of the next one, None at the end; `known` are the ids of all functions."""
    found: list[Row] = []
    for conditions in _seeks(wanted, known):
        statement = select(*_FACTS).where(*conditions, *_bounds(wanted)).order_by(runs.c.id.desc()).limit(limit + 1)
        found.extend(connection.execute(statement))
    found.sort(key=lambda row: str(row.id), reverse=True)
    return found[:limit], found[limit - 1].id if len(found) > limit else None


def runs_of_event(connection: Connection, event_id: str, limit: int = RUNS_PER_PAGE) -> list[Row]:
    """The runs that an event started, alone or in a batch, in order."""
    alone = select(runs.c.id).where(runs.c.event_id == event_id).limit(limit)
    batched = select(run_events.c.run_id).where(run_events.c.event_id == event_id).limit(limit)
    ids = {row[0] for statement in (alone, batched) for row in connection.execute(statement)}
    return list(connection.execute(select(*_FACTS).where(runs.c.id.in_(ids)).order_by(runs.c.id)))


def count_runs(connection: Connection, status: str, known: Sequence[str], most: int) -> int:
    """How many runs have this status; `most` when there are as many or more."""
    some = select(runs.c.id).where(runs.c.function_id.in_(known), runs.c.status == status).limit(most)
    return connection.execute(select(func.count()).select_from(some.subquery())).scalar_one()


def _seeks(wanted: RunFilter, known: Sequence[str]) -> Iterator[list[ColumnElement[bool]]]:
    if wanted.functions is None and wanted.status is None:
        yield []
        return
    for function_id in known if wanted.functions is None else wanted.functions:
        conditions = [runs.c.function_id == function_id]
        yield conditions if wanted.status is None else [*conditions, runs.c.status == wanted.status]


def _bounds(wanted: RunFilter) -> Iterator[ColumnElement[bool]]:
    if wanted.since is not None:
        yield runs.c.id >= ulid(wanted.since, _NONE)
    if wanted.until is not None:
        yield runs.c.id < ulid(wanted.until, _NONE)
    if wanted.before is not None:
        yield runs.c.id < wanted.before

"""Stored runs by function, time, status or event, and the ticks of schedules that ran late or were skipped."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection, Select, and_, or_, select

from engine.rows import Row
from engine.storage.tables import events, missed, run_events, runs, steps

_SHORT_COLUMNS = [column for column in runs.c if column.name not in {"events", "output"}]
_TIME_FIELDS = {"queuedAt": runs.c.queued_at, "startedAt": runs.c.started_at, "endedAt": runs.c.ended_at}


@dataclass(frozen=True)
class RunQuery:
    """A query for runs whose `time_field` is in [`since`, `until`), newest first unless `ascending`."""

    limit: int
    function_ids: Sequence[str] | None = None
    event_id: str | None = None
    statuses: Sequence[str] = ()
    time_field: str = "queuedAt"
    since: int | None = None
    until: int | None = None
    ascending: bool = False
    cursor: str | None = None
    with_output: bool = field(default=False, kw_only=True)


def list_runs(connection: Connection, query: RunQuery) -> tuple[list[Row], str | None]:
    """Return a page of runs and the cursor of the next page, None at the end.

    This serves the APIs, which filter by any time field; `pages.views.run_list` lists runs for the pages, by seeks in
    indexes.

    Raises:
        ValueError: the cursor is malformed.
    """
    moment = _TIME_FIELDS[query.time_field]
    columns = [*_SHORT_COLUMNS, runs.c.output] if query.with_output else _SHORT_COLUMNS
    statement: Select[tuple[object, ...]] = select(*columns)
    if query.function_ids is not None:
        statement = statement.where(runs.c.function_id.in_(query.function_ids))
    if query.event_id is not None:
        batched = select(run_events.c.run_id).where(run_events.c.event_id == query.event_id)
        statement = statement.where(or_(runs.c.event_id == query.event_id, runs.c.id.in_(batched)))
    if query.statuses:
        statement = statement.where(runs.c.status.in_(query.statuses))
    if query.time_field != "queuedAt":
        statement = statement.where(moment.is_not(None))
    if query.since is not None:
        statement = statement.where(moment >= query.since)
    if query.until is not None:
        statement = statement.where(moment < query.until)
    # A run's id begins with the time at which it was queued, so ordering by id orders by that time.
    order = (runs.c.id,) if query.time_field == "queuedAt" else (moment, runs.c.id)
    if query.cursor is not None:
        at, run_id = _read_cursor(query.cursor)
        if len(order) == 1:
            statement = statement.where(runs.c.id > run_id if query.ascending else runs.c.id < run_id)
        elif query.ascending:
            statement = statement.where(or_(moment > at, and_(moment == at, runs.c.id > run_id)))
        else:
            statement = statement.where(or_(moment < at, and_(moment == at, runs.c.id < run_id)))
    statement = statement.order_by(*(column.asc() if query.ascending else column.desc() for column in order))
    rows = list(connection.execute(statement.limit(query.limit + 1)))
    if len(rows) <= query.limit:
        return rows, None
    rows = rows[: query.limit]
    return rows, _write_cursor(rows[-1], moment.name)


def find_run(connection: Connection, run_id: str) -> Row | None:
    """Return the whole row of a run."""
    return connection.execute(select(runs).where(runs.c.id == run_id)).first()


def list_run_steps(connection: Connection, run_id: str) -> list[Row]:
    """Return the steps of a run in the order in which the app reported them."""
    statement = (
        select(steps).where(steps.c.run_id == run_id).order_by(steps.c.queued_at, steps.c.position, steps.c.step_id)
    )
    return list(connection.execute(statement))


def name_step_status(run: Row, step: Row) -> str:
    """Return the status of a step as the APIs and pages name it; an open step of an ended run was cancelled."""
    if step.position is not None:
        return "FAILED" if step.status == "BROKEN" else "COMPLETED"
    if run.ended_at is not None:
        return "CANCELLED"
    return "WAITING" if step.status == "OPEN" else "RUNNING"


def list_event_ids(connection: Connection, run: Row) -> list[str]:
    """Return the ids of the events that started a run."""
    statement = select(run_events.c.event_id).where(run_events.c.run_id == run.id).order_by(run_events.c.position)
    return [row.event_id for row in connection.execute(statement)] or [run.event_id]


def find_event(connection: Connection, event_id: str) -> Row | None:
    """Return the row of an event."""
    return connection.execute(select(events).where(events.c.id == event_id).limit(1)).first()


def list_missed_ticks(connection: Connection, limit: int, function_id: str | None = None) -> list[Row]:
    """Return the ticks that ran late or were skipped, of one function or of all, newest first."""
    statement = select(missed).order_by(missed.c.seq.desc()).limit(limit)
    if function_id is not None:
        statement = statement.where(missed.c.function_id == function_id)
    return list(connection.execute(statement))


def find_late_runs(connection: Connection, run_ids: Sequence[str]) -> dict[str, int]:
    """Return when each of these runs was due, for those that began late."""
    if not run_ids:
        return {}
    statement = select(missed.c.run_id, missed.c.last_at).where(missed.c.run_id.in_(run_ids))
    return {row.run_id: row.last_at for row in connection.execute(statement)}


def _write_cursor(row: Row, moment: str) -> str:
    return base64.urlsafe_b64encode(json.dumps([getattr(row, moment), row.id]).encode()).decode()


def _read_cursor(cursor: str) -> tuple[int, str]:
    at, run_id = json.loads(base64.urlsafe_b64decode(cursor))
    return int(at), str(run_id)

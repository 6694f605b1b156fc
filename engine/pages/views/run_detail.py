"""Detail of a run: everything that its page shows, with only the beginning of long texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, func, select

from engine.event import FUNCTION_INVOKED
from engine.formats.ids import ulid
from engine.pages.site.text import EXCERPT_LENGTH
from engine.rows import Row
from engine.storage.tables import attempts, items, pauses, runs, steps

STEPS_PER_PAGE = 200
_MAX_ATTEMPTS = 2000
_MAX_ITEMS = 2000
_TEXT_BUDGET = 200_000
_NO_ENTROPY = bytes(10)


@dataclass(frozen=True)
class RunPageData:
    """A run with at most 200 of its `count` steps, from `first`; it waits for `open_items` and `waits`."""

    run: Row
    steps: Sequence[Row]
    first: int
    count: int
    attempts: Sequence[Row]
    open_items: Sequence[Row]
    waits: Mapping[str, Row]
    invoked: Mapping[str, str]
    """The runs that steps invoked, by step id."""
    text_limit: int
    """The number of characters that were read of each output."""


def read_run(connection: Connection, run_id: str, first: int = 0) -> RunPageData | None:
    """Read a run for its page, with the steps from `first`; None when there is no such run."""
    run = connection.execute(_run_statement().where(runs.c.id == run_id)).first()
    if run is None:
        return None
    count = connection.execute(select(func.count()).where(steps.c.run_id == run_id)).scalar_one()
    limit = max(_TEXT_BUDGET // max(min(count, STEPS_PER_PAGE), 10), 1000)
    found = _read_steps(connection, run_id, first, limit)
    waiting = select(pauses).where(pauses.c.run_id == run_id, pauses.c.kind == "wait").limit(_MAX_ITEMS)
    return RunPageData(
        run=run,
        steps=found,
        first=first,
        count=count,
        attempts=_read_attempts(connection, run_id, limit),
        open_items=list(connection.execute(select(items).where(items.c.run_id == run_id).limit(_MAX_ITEMS))),
        waits={row.step_id: row for row in connection.execute(waiting)},
        invoked={
            step.step_id: child
            for step in found
            if step.op == "InvokeFunction" and (child := _find_invoked_run(connection, step)) is not None
        },
        text_limit=limit,
    )


def _run_statement() -> Select[Any]:
    short = [column for column in runs.c if column.name not in {"events", "output"}]
    return select(
        *short,
        _beginning(runs.c.output, EXCERPT_LENGTH).label("output_text"),
        func.length(runs.c.output).label("output_whole"),
        _beginning(runs.c.events, EXCERPT_LENGTH).label("events_text"),
        func.length(runs.c.events).label("events_whole"),
    )


def _read_steps(connection: Connection, run_id: str, first: int, limit: int) -> list[Row]:
    short = [column for column in steps.c if column.name != "memo"]
    statement = select(*short, _beginning(steps.c.memo, limit).label("text"), func.length(steps.c.memo).label("whole"))
    ordered = statement.where(steps.c.run_id == run_id).order_by(steps.c.queued_at, steps.c.position, steps.c.step_id)
    return list(connection.execute(ordered.offset(first).limit(STEPS_PER_PAGE)))


def _read_attempts(connection: Connection, run_id: str, limit: int) -> list[Row]:
    short = [column for column in attempts.c if column.name != "error"]
    statement = select(
        *short, _beginning(attempts.c.error, limit).label("text"), func.length(attempts.c.error).label("whole")
    )
    return list(
        connection.execute(statement.where(attempts.c.run_id == run_id).order_by(attempts.c.seq).limit(_MAX_ATTEMPTS))
    )


def _find_invoked_run(connection: Connection, step: Row) -> str | None:
    """Find the run that a step invoked: the first one queued in the same millisecond whose event names the step."""
    since, until = ulid(step.queued_at, _NO_ENTROPY), ulid(step.queued_at + 1, _NO_ENTROPY)
    names_step = runs.c.events.contains(f'"correlation_id":"{step.run_id}.{step.step_id}"', autoescape=True)
    statement = select(runs.c.id).where(
        runs.c.id >= since, runs.c.id < until, runs.c.event_name == FUNCTION_INVOKED, names_step
    )
    return connection.execute(statement.order_by(runs.c.id).limit(1)).scalar()


def _beginning(column: ColumnElement[Any], limit: int) -> ColumnElement[Any]:
    return func.substr(column, 1, limit + 1)

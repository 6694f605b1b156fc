"""One run with everything that a page shows of it; long texts only from their beginning."""

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
_MOST_ATTEMPTS = 2000
_MOST_ITEMS = 2000
_TEXT_BUDGET = 200_000
_NONE = bytes(10)


@dataclass(frozen=True)
class RunPageData:
    """`steps` are at most 200 from `first`; `open_items` and `waits` are what the run waits for."""

    run: Row
    steps: Sequence[Row]
    first: int
    count: int
    attempts: Sequence[Row]
    open_items: Sequence[Row]
    waits: Mapping[str, Row]
    invoked: Mapping[str, str]
    """Step ids and the runs they invoked."""
    text_most: int
    """How much of each step's output was read."""


def read_run(connection: Connection, run_id: str, first: int = 0) -> RunPageData | None:
    """None when there is no such run."""
    run = connection.execute(_run_statement().where(runs.c.id == run_id)).first()
    if run is None:
        return None
    count = connection.execute(select(func.count()).where(steps.c.run_id == run_id)).scalar_one()
    most = max(_TEXT_BUDGET // max(min(count, STEPS_PER_PAGE), 10), 1000)
    found = _steps(connection, run_id, first, most)
    waiting = select(pauses).where(pauses.c.run_id == run_id, pauses.c.kind == "wait").limit(_MOST_ITEMS)
    return RunPageData(
        run=run,
        steps=found,
        first=first,
        count=count,
        attempts=_attempts(connection, run_id, most),
        open_items=list(connection.execute(select(items).where(items.c.run_id == run_id).limit(_MOST_ITEMS))),
        waits={row.step_id: row for row in connection.execute(waiting)},
        invoked={
            step.step_id: child
            for step in found
            if step.op == "InvokeFunction" and (child := _invoked_run(connection, step)) is not None
        },
        text_most=most,
    )


def _run_statement() -> Select[Any]:
    short = [column for column in runs.c if column.name not in {"events", "output"}]
    return select(
        *short,
        _start(runs.c.output, EXCERPT_LENGTH).label("output_text"),
        func.length(runs.c.output).label("output_whole"),
        _start(runs.c.events, EXCERPT_LENGTH).label("events_text"),
        func.length(runs.c.events).label("events_whole"),
    )


def _steps(connection: Connection, run_id: str, first: int, most: int) -> list[Row]:
    short = [column for column in steps.c if column.name != "memo"]
    statement = select(*short, _start(steps.c.memo, most).label("text"), func.length(steps.c.memo).label("whole"))
    ordered = statement.where(steps.c.run_id == run_id).order_by(steps.c.queued_at, steps.c.position, steps.c.step_id)
    return list(connection.execute(ordered.offset(first).limit(STEPS_PER_PAGE)))


def _attempts(connection: Connection, run_id: str, most: int) -> list[Row]:
    short = [column for column in attempts.c if column.name != "error"]
    statement = select(
        *short, _start(attempts.c.error, most).label("text"), func.length(attempts.c.error).label("whole")
    )
    return list(
        connection.execute(statement.where(attempts.c.run_id == run_id).order_by(attempts.c.seq).limit(_MOST_ATTEMPTS))
    )


def _invoked_run(connection: Connection, step: Row) -> str | None:
    """The run that a step invoked: the first one queued in the same millisecond whose event names the step."""
    since, until = ulid(step.queued_at, _NONE), ulid(step.queued_at + 1, _NONE)
    names_step = runs.c.events.contains(f'"correlation_id":"{step.run_id}.{step.step_id}"', autoescape=True)
    statement = select(runs.c.id).where(
        runs.c.id >= since, runs.c.id < until, runs.c.event_name == FUNCTION_INVOKED, names_step
    )
    return connection.execute(statement.order_by(runs.c.id).limit(1)).scalar()


def _start(column: ColumnElement[Any], most: int) -> ColumnElement[Any]:
    return func.substr(column, 1, most + 1)

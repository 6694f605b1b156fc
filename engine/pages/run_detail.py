"""One run with all that a page shows of it; long texts only from their beginning."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Label, func, select

from engine.event import INVOKED
from engine.ids import ulid
from engine.pages.excerpts import MOST
from engine.rows import Row
from engine.tables import attempts, events, items, pauses, run_events, runs, steps

STEPS = 200
_MOST_ATTEMPTS = 2000
_MOST_ITEMS = 2000
_TEXT_BUDGET = 200_000
_NONE = bytes(10)


@dataclass(frozen=True)
class RunDetail:
    """`steps` are at most 200 from `first`; `open_items` and `waits` are what the run waits for."""

    run: Row
    events: Sequence[Row]
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


def read_run(connection: Connection, run_id: str, first: int = 0) -> RunDetail | None:
    """None when there is no such run."""
    run = connection.execute(_run_statement().where(runs.c.id == run_id)).first()
    if run is None:
        return None
    count = connection.execute(select(func.count()).where(steps.c.run_id == run_id)).scalar_one()
    most = max(_TEXT_BUDGET // max(min(count, STEPS), 10), 1000)
    found = _steps(connection, run_id, first, most)
    waiting = select(pauses).where(pauses.c.run_id == run_id, pauses.c.kind == "wait").limit(_MOST_ITEMS)
    return RunDetail(
        run=run,
        events=_events(connection, run),
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


def _run_statement():  # type: ignore[no-untyped-def]
    short = [column for column in runs.c if column.name not in {"events", "output"}]
    return select(
        *short,
        _start(runs.c.output, MOST).label("output_text"),
        func.length(runs.c.output).label("output_whole"),
        _start(runs.c.events, MOST).label("events_text"),
        func.length(runs.c.events).label("events_whole"),
    )

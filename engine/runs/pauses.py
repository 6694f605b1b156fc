"""Pauses: a step or a run that waits for an event (`wait`), for one that cancels it (`cancel`) or an invoked run."""

import json
from typing import Any

from sqlalchemy import bindparam, delete, func, insert, select

from engine.event import EngineEvent
from engine.expressions import Expression, compile_expression, match_key, match_of
from engine.rows import Row
from engine.storage.tables import pauses
from engine.storage.transaction import Transaction

WAIT, CANCEL, INVOKE = "wait", "cancel", "invoke"

_NEXT_PATH = select(func.min(pauses.c.match_path)).where(
    pauses.c.event_name == bindparam("event"), pauses.c.match_path > bindparam("after")
)
_MATCHING = (
    select(pauses)
    .where(
        pauses.c.event_name == bindparam("event"),
        pauses.c.match_path == bindparam("path"),
        pauses.c.match_value == bindparam("key"),
    )
    .order_by(pauses.c.id)
)
_DROP = delete(pauses).where(pauses.c.id == bindparam("pause"))
_DROP_STEP = delete(pauses).where(pauses.c.run_id == bindparam("run"), pauses.c.step_id == bindparam("step"))
_BY_ID = select(pauses).where(pauses.c.id == bindparam("pause"))


def add_pause(
    tx: Transaction,
    kind: str,
    run_id: str,
    event_name: str,
    *,
    expires_at: int,
    step_id: str | None = None,
    expression: Expression | None = None,
    trigger: dict[str, Any] | None = None,
    pause_id: str | None = None,
) -> None:
    """Wait for an event of this name for which `expression` is true.

    In the expression, `event` is the run's `trigger` and `async` the event that arrives. An equality that it
    demands is stored as a path and a value, so that an index finds the pause.
    """
    equality = match_of(expression, {"event": trigger}) if expression else None
    keeps_trigger = expression is not None and "event" in expression.roots
    row = {
        "id": pause_id or tx.new_id(),
        "kind": kind,
        "event_name": event_name,
        "match_path": equality[0] if equality else "",
        "match_value": equality[1] if equality else "",
        "run_id": run_id,
        "step_id": step_id,
        "expression": expression.text if expression else None,
        "event": json.dumps(trigger) if keeps_trigger else None,
        "expires_at": expires_at,
    }
    tx.run_once(insert(pauses), row)


def find_pauses(tx: Transaction, event: EngineEvent) -> list[Row]:
    """Return the pauses that this event ends, oldest first."""
    rows = list(tx.run(_MATCHING, {"event": event.name, "path": "", "key": ""}).all())
    path = ""
    # Visit each path that pauses of this event use, by one seek in the index for each.
    while (path := tx.run(_NEXT_PATH, {"event": event.name, "after": path}).scalar() or "") != "":
        key = match_key(_value_at(event.body, path))
        if key is not None:
            rows.extend(tx.run(_MATCHING, {"event": event.name, "path": path, "key": key}).all())
    return [row for row in rows if row.expires_at > tx.now and _matches(row, event)]


def find_invoke_pause(tx: Transaction, correlation: str) -> Row | None:
    """Return the pause of the step that invoked a run, by the correlation id of the invocation."""
    return tx.run(_BY_ID, {"pause": correlation}).first()


def drop_pause(tx: Transaction, pause_id: str) -> bool:
    """Delete a pause; False when it is already gone."""
    return tx.change(_DROP, {"pause": pause_id}) > 0


def drop_step_pause(tx: Transaction, run_id: str, step_id: str) -> None:
    """Delete the pause of a step that timed out."""
    tx.run_later(_DROP_STEP, {"run": run_id, "step": step_id})


def _matches(row: Row, event: EngineEvent) -> bool:
    if row.expression is None:
        return True
    trigger = json.loads(row.event) if row.event else None
    return compile_expression(row.expression).is_true({"event": trigger, "async": event.body})


def _value_at(body: dict[str, Any], path: str) -> Any:
    value: Any = body
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value

"""Lifecycle of a run: lock and change its row, and end it with its status, output and events in one transaction."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import bindparam, delete, select, update

from engine import event as event_names
from engine.event import make_event
from engine.formats.json_text import dumps
from engine.rows import Row
from engine.storage.queue import drop_run_items
from engine.storage.tables import CANCELLED, COMPLETED, ENDED, FAILED, pauses, runs
from engine.storage.transaction import Transaction

_LOCK = select(runs).where(runs.c.id == bindparam("run")).with_for_update()
_END = (
    update(runs)
    .where(runs.c.id == bindparam("run"))
    .values(status=bindparam("outcome"), output=bindparam("result"), ended_at=bindparam("moment"), singleton=None)
)
_DROP_PAUSES = delete(pauses).where(pauses.c.run_id == bindparam("run"))
_EVENT_STATUSES = {COMPLETED: "Completed", FAILED: "Failed", CANCELLED: "Cancelled"}


def lock_run(tx: Transaction, run_id: str) -> Row | None:
    """Lock a run's row for this transaction and return it; None when there is no such run or it has ended."""
    row = tx.run(_LOCK, {"run": run_id}).first()
    return None if row is None or row.status in ENDED else row


def change_run(tx: Transaction, run_id: str, **values: Any) -> None:
    """Set columns of a run's row."""
    tx.run_once(update(runs).where(runs.c.id == run_id).values(**values))


def complete_run(tx: Transaction, run: Row, output: str) -> None:
    """End a run whose function returned `output`, JSON text."""
    _end_run(tx, run, COMPLETED, output, {"result": json.loads(output)})


def fail_run(tx: Transaction, run: Row, error: dict[str, Any], summary: str | None = None) -> None:
    """End a run with the error `{name, message, stack, …}`; `summary` is a shorter text for the events of its end."""
    reason = {
        "error": summary or f"{error.get('name') or 'Error'}: {error.get('message') or ''}",
        "message": error.get("message"),
        "name": error.get("name"),
        "stack": error.get("stack"),
    }
    _end_run(tx, run, FAILED, dumps(error), {"error": reason})


def cancel_run(tx: Transaction, run: Row) -> None:
    """End a run as cancelled; a call in flight is not interrupted, but its answer is ignored."""
    reason = {"error": "function cancelled", "message": "function cancelled", "name": "Error", "stack": None}
    _end_run(tx, run, CANCELLED, "{}", {"error": reason})


def cancel_running(tx: Transaction, run_id: str) -> bool:
    """Cancel a run by its id; False when there is no such run or it has ended."""
    run = lock_run(tx, run_id)
    if run is None:
        return False
    cancel_run(tx, run)
    return True


def _end_run(tx: Transaction, run: Row, status: str, output: str, fields: dict[str, Any]) -> None:
    tx.run_later(_END, {"run": run.id, "outcome": status, "result": output, "moment": tx.now})
    tx.ended.append(run.id)
    drop_run_items(tx, run.id)
    tx.run_later(_DROP_PAUSES, {"run": run.id})
    function = tx.registry.by_id[run.function_id]
    triggers = json.loads(run.events)
    for index, trigger in enumerate(triggers):
        origin = trigger["data"].get("_inngest") or {}
        # The invocation may also have triggered other functions; only the invoked one answers the step.
        correlation = origin.get("correlation_id") if origin.get("fn_id") == function.slug else None
        # No events about a run that such an event started. A batch gets one set for the run and one for each
        # invocation in it.
        if trigger["name"] in {event_names.FUNCTION_FINISHED, event_names.FUNCTION_FAILED} or (
            index > 0 and correlation is None
        ):
            continue
        data = {
            "_inngest": {"status": _EVENT_STATUSES[status]},
            "event": trigger,
            "events": triggers,
            "function_id": function.slug,
            "run_id": run.id,
            **fields,
        }
        if correlation is not None:
            data["correlation_id"] = correlation
        tx.outbox.append(make_event(tx.new_id(), event_names.FUNCTION_FINISHED, data, tx.now))
        if status in {FAILED, CANCELLED}:
            name = event_names.FUNCTION_FAILED if status == FAILED else event_names.FUNCTION_CANCELLED
            tx.outbox.append(make_event(tx.new_id(), name, data, tx.now, dedup=run.id))

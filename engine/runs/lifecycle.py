"""The row of a run: lock it, change it, and end the run with its status, output and events in one transaction."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import bindparam, delete, select, update

from engine import event as event_names
from engine.event import make_event
from engine.formats.json_text import dumps
from engine.rows import Row
from engine.statement import Statement
from engine.storage.queue import drop_run_items
from engine.storage.tables import pauses, runs
from engine.storage.transaction import Transaction

ENDED = frozenset({"COMPLETED", "FAILED", "CANCELLED"})

_LOCKED = Statement(select(runs).where(runs.c.id == bindparam("run")).with_for_update())


def lock_run(tx: Transaction, run_id: str) -> Row | None:
    """The run's row, kept for this transaction; None when there is no such run or it has ended."""
    row = tx.run(_LOCKED, {"run": run_id}).first()
    return None if row is None or row.status in ENDED else row


def change_run(tx: Transaction, run_id: str, **values: Any) -> None:
    tx.run(update(runs).where(runs.c.id == run_id).values(**values))


COMPLETED, FAILED, CANCELLED = "COMPLETED", "FAILED", "CANCELLED"

_END = Statement(
    update(runs)
    .where(runs.c.id == bindparam("run"))
    .values(status=bindparam("outcome"), output=bindparam("result"), ended_at=bindparam("moment"), singleton=None)
)
_DROP_PAUSES = Statement(delete(pauses).where(pauses.c.run_id == bindparam("run")))
_SPOKEN = {COMPLETED: "Completed", FAILED: "Failed", CANCELLED: "Cancelled"}


def complete_run(tx: Transaction, run: Row, output: str) -> None:
    """The function returned `output`, JSON text."""
    _end_run(tx, run, COMPLETED, output, {"result": json.loads(output)})


def fail_run(tx: Transaction, run: Row, error: dict[str, Any], summary: str | None = None) -> None:
    """The run failed with the error object `{name, message, stack, …}`."""
    told = {
        "error": summary or f"{error.get('name') or 'Error'}: {error.get('message') or ''}",
        "message": error.get("message"),
        "name": error.get("name"),
        "stack": error.get("stack"),
    }
    _end_run(tx, run, FAILED, dumps(error), {"error": told})


def cancel_run(tx: Transaction, run: Row) -> None:
    """The run stops here; a call in flight runs to its end and its answer is thrown away."""
    reason = {"error": "function cancelled", "message": "function cancelled", "name": "Error", "stack": None}
    _end_run(tx, run, CANCELLED, "{}", {"error": reason})


def _end_run(tx: Transaction, run: Row, status: str, output: str, told: dict[str, Any]) -> None:
    tx.later(_END, {"run": run.id, "outcome": status, "result": output, "moment": tx.now})
    tx.ended.append(run.id)
    drop_run_items(tx, run.id)
    tx.later(_DROP_PAUSES, {"run": run.id})
    function = tx.registry.by_id[run.function_id]
    triggers = json.loads(run.events)
    for index, trigger in enumerate(triggers):
        origin = trigger["data"].get("_inngest") or {}
        # Others may have been started by the same event; only the one it was made for answers the step.
        correlation = origin.get("correlation_id") if origin.get("fn_id") == function.slug else None
        if trigger["name"] in {event_names.FUNCTION_FINISHED, event_names.FUNCTION_FAILED} or (
            index > 0 and correlation is None
        ):
            continue
        data = {
            "_inngest": {"status": _SPOKEN[status]},
            "event": trigger,
            "events": triggers,
            "function_id": function.slug,
            "run_id": run.id,
            **told,
        }
        if correlation is not None:
            data["correlation_id"] = correlation
        tx.outbox.append(make_event(tx.new_id(), event_names.FUNCTION_FINISHED, data, tx.now))
        if status in {FAILED, CANCELLED}:
            name = event_names.FUNCTION_FAILED if status == FAILED else event_names.FUNCTION_CANCELLED
            tx.outbox.append(make_event(tx.new_id(), name, data, tx.now, dedup=run.id))

"""The end of a run: status, output and the events that tell of it, all in one transaction."""

import json
from typing import Any

from sqlalchemy import bindparam, delete, update

from engine import event as names
from engine.event import make_event
from engine.json_text import dumps
from engine.queue import drop_run
from engine.rows import Row
from engine.statement import Statement
from engine.tables import pauses, runs
from engine.transaction import Transaction

COMPLETED, FAILED, CANCELLED = "COMPLETED", "FAILED", "CANCELLED"

_END = Statement(
    update(runs)
    .where(runs.c.id == bindparam("run"))
    .values(status=bindparam("outcome"), output=bindparam("result"), ended_at=bindparam("moment"), singleton=None)
)
_DROP_PAUSES = Statement(delete(pauses).where(pauses.c.run_id == bindparam("run")))
_SPOKEN = {COMPLETED: "Completed", FAILED: "Failed", CANCELLED: "Cancelled"}


def complete(tx: Transaction, run: Row, output: str) -> None:
    """The function returned `output`, JSON text."""
    _end(tx, run, COMPLETED, output, {"result": json.loads(output)})


def fail(tx: Transaction, run: Row, error: dict[str, Any], summary: str | None = None) -> None:
    """The run failed with the error object `{name, message, stack, …}`."""
    told = {
        "error": summary or f"{error.get('name') or 'Error'}: {error.get('message') or ''}",
        "message": error.get("message"),
        "name": error.get("name"),
        "stack": error.get("stack"),
    }
    _end(tx, run, FAILED, dumps(error), {"error": told})


def cancel(tx: Transaction, run: Row) -> None:
    """The run stops here; a call in flight runs to its end and its answer is thrown away."""
    reason = {"error": "function cancelled", "message": "function cancelled", "name": "Error", "stack": None}
    _end(tx, run, CANCELLED, "{}", {"error": reason})


def _end(tx: Transaction, run: Row, status: str, output: str, told: dict[str, Any]) -> None:
    tx.later(_END, {"run": run.id, "outcome": status, "result": output, "moment": tx.now})
    tx.ended.append(run.id)
    drop_run(tx, run.id)
    tx.later(_DROP_PAUSES, {"run": run.id})
    function = tx.registry.by_id[run.function_id]
    triggers = json.loads(run.events)
    for index, trigger in enumerate(triggers):
        origin = trigger["data"].get("_inngest") or {}
        # Others may have been started by the same event; only the one it was made for answers the step.
        correlation = origin.get("correlation_id") if origin.get("fn_id") == function.slug else None
        if trigger["name"] in {names.FINISHED, names.FAILED} or (index > 0 and correlation is None):
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
        tx.outbox.append(make_event(tx.new_id(), names.FINISHED, data, tx.now))
        if status in {FAILED, CANCELLED}:
            name = names.FAILED if status == FAILED else names.CANCELLED
            tx.outbox.append(make_event(tx.new_id(), name, data, tx.now, dedup=run.id))

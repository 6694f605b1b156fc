"""Invocation: steps that run another function and wait for its result."""

from typing import Any

from engine.event import FUNCTION_INVOKED, EngineEvent, make_event
from engine.formats.json_text import dumps
from engine.rows import Row
from engine.runs import pauses
from engine.runs.flow_control import pass_rate_limit
from engine.runs.lifecycle import lock_run
from engine.runs.start import start_run
from engine.runs.steps import BROKEN, DONE, EngineStep, complete_step, error_memo, find_step
from engine.storage.queue import INVOKE_TIMEOUT, QueueItem, drop_step_items, put_item
from engine.storage.transaction import Transaction

TIMEOUT_NAME = "InngestInvokeTimeoutError"


def begin_invoke(tx: Transaction, run: Row, step: EngineStep, slug: str, data: dict[str, Any], expires_at: int) -> None:
    """Start the function `slug` for a step, or fail the step when it cannot be started."""
    function = tx.registry.by_slug.get(slug)
    if function is None:
        _fail(tx, run, step, "Error", f"could not find function with ID: {slug}")
        return
    source = tx.registry.by_id[run.function_id]
    correlation = f"{run.id}.{step.step_id}"
    origin = {
        "correlation_id": correlation,
        "expire": expires_at,
        "fn_id": slug,
        "name": FUNCTION_INVOKED,
        "source_app_id": source.app,
        "source_fn_id": source.id,
        "source_fn_v": source.version,
    }
    event = make_event(tx.new_id(), FUNCTION_INVOKED, {**data, "_inngest": origin}, tx.now)
    if not pass_rate_limit(tx, function, event):
        _fail(tx, run, step, "Error", "invoked function is rate limited")
        return
    # The invocation is also an ordinary event: it may end pauses and trigger functions.
    tx.outbox.append(event)
    if start_run(tx, function, [event]) is None:
        _fail(tx, run, step, "Error", "invoked function was skipped: another run of it holds its singleton key")
        return
    pauses.add_pause(tx, pauses.INVOKE, run.id, "", expires_at=expires_at, step_id=step.step_id, pause_id=correlation)
    put_item(tx, QueueItem(INVOKE_TIMEOUT, expires_at, run_id=run.id, step_id=step.step_id))


def finish_invoke(tx: Transaction, finished: EngineEvent) -> None:
    """Complete the step that invoked a finished run with its result, if the step still waits."""
    pause = pauses.find_invoke_pause(tx, finished.data["correlation_id"])
    if pause is None:
        return
    run = lock_run(tx, pause.run_id)
    if run is None or not pauses.drop_pause(tx, pause.id):
        return
    drop_step_items(tx, run.id, pause.step_id)
    step = find_step(tx, run.id, pause.step_id)
    if step is None or step.position is not None:
        return
    error = finished.data.get("error")
    if error is None:
        complete_step(tx, run, step, dumps({"data": finished.data.get("result")}), outcome=DONE)
    else:
        _fail(tx, run, step, error.get("name") or "Error", error.get("message") or "", error.get("stack"))


def time_out_invoke(tx: Transaction, run: Row, step: EngineStep) -> None:
    """Fail a step whose invoked run did not end in time; that run continues."""
    pauses.drop_step_pause(tx, run.id, step.step_id)
    _fail(tx, run, step, TIMEOUT_NAME, "Timed out waiting for invoked function to complete")


def _fail(tx: Transaction, run: Row, step: EngineStep, name: str, message: str, stack: str | None = None) -> None:
    complete_step(tx, run, step, error_memo(name, message, stack), outcome=BROKEN)

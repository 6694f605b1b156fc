"""Store the outcome of a call and act on it."""

from typing import assert_never

from sqlalchemy import insert

from engine.calls.outcome import CallOutcome, FunctionFailed, Returned, Stepped
from engine.calls.retry import backoff_ms
from engine.formats.json_text import dumps
from engine.rows import Row
from engine.runs.lifecycle import change_run, complete_run, fail_run, lock_run
from engine.runs.opcodes import STATE_OVERFLOW, RunFailure, apply_opcodes
from engine.runs.steps import DISCOVER, limits_of, mark_errored
from engine.settings import too_large
from engine.storage.queue import QueueItem, put_item, run_has_items, take_item
from engine.storage.tables import attempts
from engine.storage.transaction import AppCall, Transaction


def record_answer(tx: Transaction, call: AppCall, outcome: CallOutcome) -> None:
    """Take the item off the queue and act on its outcome; an item that is no longer ours has no effect."""
    run = lock_run(tx, call.run_id)
    if not take_item(tx, call) or run is None:
        return
    if run.sdk_version == -1 and outcome.sdk_version is not None:
        change_run(tx, run.id, sdk_version=outcome.sdk_version)
        run = lock_run(tx, run.id)
        assert run is not None
    if len(call.memos) == run.stack_len:
        # What the app was shown is still all there is.
        tx.known_stacks[run.id] = list(call.memos)
    match outcome.result:
        case Returned(output):
            _end_with(tx, run, output)
        case FunctionFailed(error, summary):
            if outcome.no_retry or call.attempt + 1 >= call.max_attempts:
                fail_run(tx, run, error, summary)
            else:
                retry_call(tx, run, call, outcome, error)
        case Stepped(opcodes):
            try:
                retries = apply_opcodes(tx, run, call, outcome, opcodes)
            except RunFailure as failure:
                fail_run(tx, run, {"name": failure.name, "message": str(failure), "stack": None})
                return
            if retries is not None:
                retry_call(tx, run, call, outcome, retries)
            elif tx.puts == 0 and not run_has_items(tx, run.id) and lock_run(tx, run.id) is not None:
                message = "the app told of no new step and the run waits for nothing, so it could not go on"
                fail_run(tx, run, {"name": "Error", "message": message, "stack": None})
        case _:
            assert_never(outcome.result)


def retry_call(tx: Transaction, run: Row, call: AppCall, outcome: CallOutcome, error: dict[str, object]) -> None:
    """Queue the same call again, after the back-off or at the time the app asked for."""
    wait = backoff_ms(call.attempt, tx.settings.retry_interval_s)
    due_at = tx.now + wait if outcome.retry_at is None else outcome.retry_at
    told = str(error.get("id") or ("" if call.step_id == DISCOVER else call.step_id))
    row = {
        "run_id": run.id,
        "step_id": told,
        "attempt": call.attempt,
        "error": dumps({key: value for key, value in error.items() if key != "id"}),
        "started_at": outcome.started_at,
        "ended_at": tx.now,
    }
    _keep_attempt(tx, row)
    if told:
        mark_errored(tx, run.id, told, call.attempt + 1)
    again = QueueItem(
        call.kind,
        due_at,
        run_id=run.id,
        step_id=call.step_id,
        attempt=call.attempt + 1,
        max_attempts=call.max_attempts,
        limits=limits_of(run),
        priority_ms=run.priority_ms,
        body=call.body,
    )
    put_item(tx, again)


def _keep_attempt(tx: Transaction, row: dict[str, object]) -> None:
    tx.run(insert(attempts), row)


def _end_with(tx: Transaction, run: Row, output: str) -> None:
    size = len(output.encode())
    if size > tx.settings.max_step_output:
        message = too_large("the function's output", size, tx.settings.max_step_output)
        fail_run(tx, run, {"name": STATE_OVERFLOW, "message": message, "stack": None})
    else:
        complete_run(tx, run, output)

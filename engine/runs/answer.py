"""Record the answer of an app: end the run, store its steps, or queue the call again."""

from typing import assert_never

from sqlalchemy import insert

from engine.calls.outcome import CallOutcome, FunctionFailed, Returned, Stepped
from engine.calls.retry import backoff_ms
from engine.formats.json_text import dumps
from engine.rows import Row
from engine.runs.lifecycle import change_run, complete_run, fail_run, lock_run
from engine.runs.opcodes import STATE_OVERFLOW, RunFailure, apply_opcodes
from engine.runs.steps import DISCOVER, limits_of, set_step_attempt
from engine.settings import too_large
from engine.storage.queue import QueueItem, put_item, run_has_items, take_item
from engine.storage.tables import attempts
from engine.storage.transaction import AppCall, Transaction


def record_answer(tx: Transaction, call: AppCall, outcome: CallOutcome) -> None:
    """Take the call's item off the queue and act on the outcome; ignored when this process no longer holds the item."""
    run = lock_run(tx, call.run_id)
    if not take_item(tx, call) or run is None:
        return
    if run.sdk_version == -1 and outcome.sdk_version is not None:
        change_run(tx, run.id, sdk_version=outcome.sdk_version)
        run = lock_run(tx, run.id)
        assert run is not None
    if len(call.memos) == run.stack_len:
        # No step was added since the call was made, so its memos are the current stack.
        tx.cached_stacks[run.id] = list(call.memos)
    match outcome.result:
        case Returned(output):
            _end_run(tx, run, output)
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
            elif tx.added_items == 0 and not run_has_items(tx, run.id) and lock_run(tx, run.id) is not None:
                message = "the app answered with no new step and the run waits for nothing, so it cannot continue"
                fail_run(tx, run, {"name": "Error", "message": message, "stack": None})
        case _:
            assert_never(outcome.result)


def retry_call(tx: Transaction, run: Row, call: AppCall, outcome: CallOutcome, error: dict[str, object]) -> None:
    """Record a failed attempt and queue the same call again, after the back-off or when the app asked for it."""
    wait = backoff_ms(call.attempt, tx.settings.retry_interval_s)
    due_at = tx.now + wait if outcome.retry_at is None else outcome.retry_at
    failed_step = str(error.get("id") or ("" if call.step_id == DISCOVER else call.step_id))
    row = {
        "run_id": run.id,
        "step_id": failed_step,
        "attempt": call.attempt,
        "error": dumps({key: value for key, value in error.items() if key != "id"}),
        "started_at": outcome.started_at,
        "ended_at": tx.now,
    }
    tx.run_once(insert(attempts), row)
    if failed_step:
        set_step_attempt(tx, run.id, failed_step, call.attempt + 1)
    item = QueueItem(
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
    put_item(tx, item)


def _end_run(tx: Transaction, run: Row, output: str) -> None:
    size = len(output.encode())
    if size > tx.settings.max_step_output:
        message = too_large("the function's output", size, tx.settings.max_step_output)
        fail_run(tx, run, {"name": STATE_OVERFLOW, "message": message, "stack": None})
    else:
        complete_run(tx, run, output)

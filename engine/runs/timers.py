"""Acting on items whose time has come and that need no call."""

from engine import queue
from engine.rows import Row
from engine.runs import crons, hold
from engine.runs.finish import cancel
from engine.runs.invoke import time_out_invoke
from engine.runs.pauses import drop_step_pause
from engine.runs.state import lock_run
from engine.runs.steps import DONE, TIMED_OUT, complete_step, find_step
from engine.transaction import Transaction

_AT_ONCE = 200


def work_off_due(tx: Transaction) -> bool:
    """Claim or carry out what is due; True when there may be more."""
    rows = queue.due_items(tx, _AT_ONCE)
    for row in rows:
        if queue.is_outgoing(row):
            queue.claim(tx, row)
        else:
            queue.drop(tx, row.id)
            _fire(tx, row)
    if (moment := queue.next_due(tx)) is not None:
        tx.due(moment)
    return len(rows) == _AT_ONCE


def _fire(tx: Transaction, row: Row) -> None:
    match row.kind:
        case queue.CRON:
            crons.fire(tx, row)
        case queue.DEBOUNCE | queue.BATCH:
            hold.release(tx, row)
        case queue.START_TIMEOUT | queue.FINISH_TIMEOUT:
            run = lock_run(tx, row.run_id)
            if run is not None and (row.kind == queue.FINISH_TIMEOUT or run.status == "QUEUED"):
                cancel(tx, run)
        case queue.SLEEP | queue.WAIT_TIMEOUT | queue.INVOKE_TIMEOUT:
            _end_step(tx, row)
        case _:
            raise ValueError(f"the queue holds an item of unknown kind {row.kind}")


def _end_step(tx: Transaction, row: Row) -> None:
    run = lock_run(tx, row.run_id)
    step = find_step(tx, row.run_id, row.step_id) if run is not None else None
    if run is None or step is None or step.position is not None:
        return
    if row.kind == queue.INVOKE_TIMEOUT:
        time_out_invoke(tx, run, step)
        return
    if row.kind == queue.WAIT_TIMEOUT:
        drop_step_pause(tx, run.id, step.step_id)
    complete_step(tx, run, step, "null", outcome=DONE if row.kind == queue.SLEEP else TIMED_OUT)

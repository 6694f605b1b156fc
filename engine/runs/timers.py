"""Timers: act on due items that need no call, and move waiting items when the machine's clock is set back."""

from __future__ import annotations

from sqlalchemy import bindparam, update

from engine.rows import Row
from engine.runs import event_buffer, schedules
from engine.runs.invocation import time_out_invoke
from engine.runs.lifecycle import cancel_run, lock_run
from engine.runs.pauses import drop_step_pause
from engine.runs.schedules import reschedule_function
from engine.runs.steps import DONE, TIMED_OUT, complete_step, find_step
from engine.storage import queue
from engine.storage.queue import CRON, WAITING
from engine.storage.tables import QUEUED, gates, items
from engine.storage.transaction import Transaction

_BATCH_SIZE = 200
_MOVE_ITEMS = (
    update(items)
    .where(items.c.state == WAITING, items.c.kind != CRON)
    .values(due_at=items.c.due_at - bindparam("by"), rank=items.c.rank - bindparam("by"))
)
_MOVE_GATES = update(gates).values(free_at=gates.c.free_at - bindparam("by"))


def work_off_due(tx: Transaction) -> bool:
    """Claim due calls and act on other due items, up to 200; returns whether there may be more."""
    rows = queue.list_due_items(tx, _BATCH_SIZE)
    for row in rows:
        if queue.is_outgoing(row):
            queue.claim_item(tx, row)
        else:
            queue.drop_item(tx, row.id)
            _act_on_item(tx, row)
    if (moment := queue.read_next_due(tx)) is not None:
        tx.wake_at(moment)
    return len(rows) == _BATCH_SIZE


def _act_on_item(tx: Transaction, row: Row) -> None:
    match row.kind:
        case queue.CRON:
            schedules.fire_schedule(tx, row)
        case queue.DEBOUNCE | queue.BATCH:
            event_buffer.release_buffer(tx, row)
        case queue.START_TIMEOUT | queue.FINISH_TIMEOUT:
            run = lock_run(tx, row.run_id)
            if run is not None and (row.kind == queue.FINISH_TIMEOUT or run.status == QUEUED):
                cancel_run(tx, run)
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


def shift_waiting(tx: Transaction, by_ms: int) -> None:
    """Move what waits `by_ms` earlier, after the machine's clock was set back by that much.

    This keeps sleeps and timeouts as long as they were meant to be. Schedules are planned again by the new time; a tick
    that ran while the clock was ahead does not run again.
    """
    tx.run_once(_MOVE_ITEMS, {"by": by_ms})
    tx.run_once(_MOVE_GATES, {"by": by_ms})
    for function in tx.registry.by_id.values():
        reschedule_function(tx, function, keep=False)
    tx.wake_at(tx.now)

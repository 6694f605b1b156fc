"""Steps of a run: opened when the app tells of them, done when their memo is stored."""

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import bindparam, insert, select, update

from engine.json_text import dumps
from engine.queue import CALL, Item, put
from engine.rows import Row
from engine.slots import Limit
from engine.tables import runs, steps
from engine.transaction import Transaction

DISCOVER = "step"
OPEN, ERRORED, DONE, BROKEN, TIMED_OUT = "OPEN", "ERRORED", "DONE", "BROKEN", "TIMED_OUT"

_INSERT = insert(steps)
_FIND = select(steps).where(steps.c.run_id == bindparam("run"), steps.c.step_id == bindparam("step"))
_ANY_OPEN = (
    select(steps.c.step_id)
    .where(steps.c.run_id == bindparam("run"), steps.c.position.is_(None), steps.c.status == OPEN)
    .limit(1)
)
_COMPLETE = (
    update(steps)
    .where(steps.c.run_id == bindparam("run"), steps.c.step_id == bindparam("step"))
    .values(
        position=bindparam("place"),
        status=bindparam("outcome"),
        memo=bindparam("shown"),
        attempt=bindparam("tries"),
        started_at=bindparam("began"),
        ended_at=bindparam("ended"),
    )
)
_GROWN = (
    update(runs)
    .where(runs.c.id == bindparam("run"))
    .values(stack_len=bindparam("length"), state_size=bindparam("size"), plan_only=bindparam("plan"))
)


def find_step(tx: Transaction, run_id: str, step_id: str) -> Row | None:
    return tx.run(_FIND, {"run": run_id, "step": step_id}).first()


def open_step(tx: Transaction, run_id: str, step_id: str, **columns: Any) -> None:
    """Store a step that is not done: `op`, `name`, `race`, `status`, `attempt`, `detail`."""
    row = {
        "position": None,
        "memo": None,
        "detail": None,
        "started_at": None,
        "ended_at": None,
        "attempt": 0,
        "status": OPEN,
    }
    tx.run(_INSERT, {**row, "run_id": run_id, "step_id": step_id, "queued_at": tx.now, **columns})


def complete_step(
    tx: Transaction,
    run: Row,
    step: Row,
    memo: str,
    *,
    outcome: str = DONE,
    attempt: int = 0,
    started_at: int | None = None,
) -> None:
    """Store a step's memo on the stack and, unless its group still waits for others, ask the app what comes next."""
    tx.run(
        _COMPLETE,
        {
            "run": run.id,
            "step": step.step_id,
            "place": run.stack_len,
            "outcome": outcome,
            "shown": memo,
            "tries": attempt,
            "began": started_at or step.queued_at,
            "ended": tx.now,
        },
    )
    discovers = step.race or tx.run(_ANY_OPEN, {"run": run.id}).first() is None
    plan = bool(run.plan_only and not discovers)
    size = run.state_size + len(memo.encode())
    tx.run(_GROWN, {"run": run.id, "length": run.stack_len + 1, "size": size, "plan": plan})
    if discovers:
        discover(tx, run)


def discover(tx: Transaction, run: Row) -> None:
    """Ask the app what comes next in a run."""
    call_step(tx, run, DISCOVER)


def call_step(
    tx: Transaction,
    run: Row,
    step_id: str,
    *,
    attempt: int = 0,
    max_attempts: int | None = None,
    due_at: int | None = None,
) -> None:
    """Queue a request to the app."""
    function = tx.registry.by_id[run.function_id]
    put(
        tx,
        Item(
            CALL,
            tx.now if due_at is None else due_at,
            run_id=run.id,
            step_id=step_id,
            attempt=attempt,
            max_attempts=function.retries + 1 if max_attempts is None else max_attempts,
            limits=limits_of(run),
            priority_ms=run.priority_ms,
        ),
    )


def limits_of(run: Row) -> Sequence[Limit]:
    return [(key, limit) for key, limit in json.loads(run.limits)]


def error_memo(name: str, message: str, stack: str | None = None) -> str:
    """What the SDK is shown of a step that failed for good."""
    return dumps({"error": {"message": message, "name": name, "stack": stack}})


def mark_errored(tx: Transaction, run_id: str, step_id: str, attempt: int) -> None:
    tx.run(update(steps).where(steps.c.run_id == run_id, steps.c.step_id == step_id).values(attempt=attempt))

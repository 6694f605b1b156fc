"""Steps of a run: opened when the app reports them, done when their memo is stored on the run's stack."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, insert, select, update

from engine.formats.json_text import dumps
from engine.rows import Row
from engine.storage.queue import CALL, QueueItem, put_item
from engine.storage.slots import Limit
from engine.storage.tables import runs, steps
from engine.storage.transaction import CachedRun, Transaction

DISCOVER = "step"
"""The step id of a call that asks the function for its next steps."""
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
_GROW_RUN = (
    update(runs)
    .where(runs.c.id == bindparam("run"))
    .values(stack_len=bindparam("length"), state_size=bindparam("size"), plan_only=bindparam("plan"))
)


@dataclass(frozen=True)
class EngineStep:
    """The fields of a step that execution needs; `stored` says whether it has a row yet."""

    step_id: str
    op: str
    name: str
    race: bool
    status: str
    position: int | None
    queued_at: int
    stored: bool


def find_step(tx: Transaction, run_id: str, step_id: str) -> EngineStep | None:
    """Return a stored step by its hashed id."""
    row = tx.run(_FIND, {"run": run_id, "step": step_id}).first()
    if row is None:
        return None
    return EngineStep(row.step_id, row.op, row.name, bool(row.race), row.status, row.position, row.queued_at, True)


def open_step(tx: Transaction, run_id: str, step: EngineStep) -> None:
    """Store a step that is not done yet."""
    tx.run_later(_INSERT, {**_step_row(run_id, step), "status": step.status})


def complete_step(
    tx: Transaction,
    run: Row,
    step: EngineStep,
    memo: str,
    *,
    outcome: str = DONE,
    attempt: int = 0,
    started_at: int | None = None,
) -> None:
    """Add a step's memo to the run's stack, then ask the app for the next steps.

    In a parallel group only the last step to be done asks; a step of a race always asks.
    """
    changes = {
        "position": run.stack_len,
        "status": outcome,
        "memo": memo,
        "attempt": attempt,
        "started_at": started_at or step.queued_at,
        "ended_at": tx.now,
    }
    if step.stored:
        tx.run_later(
            _COMPLETE,
            {
                "run": run.id,
                "step": step.step_id,
                "place": changes["position"],
                "outcome": outcome,
                "shown": memo,
                "tries": attempt,
                "began": changes["started_at"],
                "ended": tx.now,
            },
        )
    else:
        tx.run_later(_INSERT, {**_step_row(run.id, step), **changes})
    asks_next = step.race or tx.run(_ANY_OPEN, {"run": run.id}).first() is None
    plan = bool(run.plan_only and not asks_next)
    if (stack := tx.cached_stacks.get(run.id)) is not None:
        stack.append((step.step_id, memo))
    size = run.state_size + len(memo.encode())
    tx.run_later(_GROW_RUN, {"run": run.id, "length": run.stack_len + 1, "size": size, "plan": plan})
    tx.cached_runs[run.id] = CachedRun(run, plan, size)
    if asks_next:
        discover_next(tx, run)


def _step_row(run_id: str, step: EngineStep) -> dict[str, Any]:
    return {
        "run_id": run_id,
        "step_id": step.step_id,
        "op": step.op,
        "name": step.name,
        "race": step.race,
        "position": None,
        "memo": None,
        "attempt": 0,
        "queued_at": step.queued_at,
        "started_at": None,
        "ended_at": None,
    }


def discover_next(tx: Transaction, run: Row) -> None:
    """Queue a call that asks the app for the next steps of a run."""
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
    """Queue a call to the app for one step."""
    function = tx.registry.by_id[run.function_id]
    put_item(
        tx,
        QueueItem(
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
    """Return the concurrency limits of a run's calls, as `flow_control` computed them at its start."""
    return [(key, limit) for key, limit in json.loads(run.limits)]


def error_memo(name: str, message: str, stack: str | None = None) -> str:
    """Return the memo of a step that failed for good, as the SDK reads it."""
    return dumps({"error": {"message": message, "name": name, "stack": stack}})


def set_step_attempt(tx: Transaction, run_id: str, step_id: str, attempt: int) -> None:
    """Note the number of the attempt that follows a failed one."""
    tx.run_once(update(steps).where(steps.c.run_id == run_id, steps.c.step_id == step_id).values(attempt=attempt))

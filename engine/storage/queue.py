"""The queue: what has to be done when, and which process does it.

An item that is due when it is added is claimed in the same transaction, so that a run needs one commit per step and no
polling. An item whose concurrency limit is full is parked until a slot of that limit is free.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import bindparam, delete, insert, select, update

from engine.rows import Row
from engine.storage.slots import Limit, acquire_slots, release_slots
from engine.storage.tables import QUEUED, RUNNING, items, runs, steps
from engine.storage.transaction import AppCall, CachedRun, Transaction

WAITING, CLAIMED, PARKED = 0, 1, 2

CALL, GATEWAY = "call", "gateway"
SLEEP, WAIT_TIMEOUT, INVOKE_TIMEOUT = "sleep", "wait_timeout", "invoke_timeout"
START_TIMEOUT, FINISH_TIMEOUT = "start_timeout", "finish_timeout"
CRON, DEBOUNCE, BATCH = "cron", "debounce", "batch"

_OUTGOING = frozenset({CALL, GATEWAY})
_UNPARK_BATCH_SIZE = 4

_INSERT = insert(items)
_DELETE_OWNED = delete(items).where(items.c.id == bindparam("item"), items.c.owner == bindparam("claimer"))
_DELETE = delete(items).where(items.c.id == bindparam("item"))
_CLAIM = (
    update(items)
    .where(items.c.id == bindparam("item"))
    .values(state=CLAIMED, owner=bindparam("claimer"), blocked_on=None)
)
_POSTPONE = (
    update(items)
    .where(items.c.id == bindparam("item"), items.c.owner == bindparam("claimer"))
    .values(state=WAITING, owner=None, due_at=bindparam("moment"))
)
_PARK = update(items).where(items.c.id == bindparam("item")).values(state=PARKED, blocked_on=bindparam("blocker"))
_RUN = select(runs).where(runs.c.id == bindparam("run"))
_STARTED = update(runs).where(runs.c.id == bindparam("run")).values(status=RUNNING, started_at=bindparam("moment"))
_MEMOS = (
    select(steps.c.step_id, steps.c.memo)
    .where(steps.c.run_id == bindparam("run"), steps.c.position.is_not(None))
    .order_by(steps.c.position)
)
_PARKED = (
    select(items)
    .where(items.c.blocked_on == bindparam("blocker"), items.c.state == PARKED)
    .order_by(items.c.rank, items.c.id)
    .limit(_UNPARK_BATCH_SIZE)
)
_DUE = (
    select(items)
    .where(items.c.state == WAITING, items.c.due_at <= bindparam("moment"))
    .order_by(items.c.due_at)
    .limit(bindparam("limit"))
    .with_for_update(skip_locked=True)
)
_NEXT_DUE = select(items.c.due_at).where(items.c.state == WAITING).order_by(items.c.due_at).limit(1)
_LIST_RUN = select(items.c.id).where(items.c.run_id == bindparam("run"))
_DELETE_RUN = delete(items).where(items.c.run_id == bindparam("run"))
_DELETE_STEP = delete(items).where(items.c.run_id == bindparam("run"), items.c.step_id == bindparam("step"))
_ANY_OF_RUN = select(items.c.id).where(items.c.run_id == bindparam("run")).limit(1)
_DELETE_SUBJECT = delete(items).where(items.c.subject == bindparam("subject_key"))


@dataclass(frozen=True)
class QueueItem:
    """An item to be added; `subject` names the schedule, debounce or batch that it belongs to, if it has no run."""

    kind: str
    due_at: int
    run_id: str | None = None
    step_id: str | None = None
    subject: str | None = None
    attempt: int = 0
    max_attempts: int = 1
    limits: Sequence[Limit] = ()
    priority_ms: int = 0
    body: str | None = None


def put_item(tx: Transaction, item: QueueItem) -> str:
    """Add an item and return its id; a call that is due is claimed immediately."""
    item_id = tx.new_id()
    state, blocker = WAITING, None
    if item.kind in _OUTGOING and item.due_at <= tx.now:
        blocker = acquire_slots(tx, item_id, item.limits)
        state = CLAIMED if blocker is None else PARKED
    row = {
        "id": item_id,
        "kind": item.kind,
        "state": state,
        "owner": tx.owner if state == CLAIMED else None,
        "due_at": item.due_at,
        "rank": item.due_at - item.priority_ms,
        "run_id": item.run_id,
        "step_id": item.step_id,
        "subject": item.subject,
        "attempt": item.attempt,
        "max_attempts": item.max_attempts,
        "limits": json.dumps(item.limits) if item.limits else None,
        "blocked_on": blocker,
        "body": item.body,
        "created_at": tx.now,
    }
    tx.run_later(_INSERT, row)
    tx.added_items += 1
    if state == CLAIMED:
        _add_call(tx, item_id, item, limited=bool(item.limits))
    elif state == WAITING:
        tx.wake_at(item.due_at)
    return item_id


def take_item(tx: Transaction, call: AppCall) -> bool:
    """Remove the item of an answered call; False when this process no longer holds it, so the answer must not count."""
    if tx.change(_DELETE_OWNED, {"item": call.item_id, "claimer": tx.owner}) == 0:
        return False
    if call.limited:
        free_slots(tx, call.item_id)
    return True


def postpone_item(tx: Transaction, item_id: str, due_at: int) -> None:
    """Give up the claim on an item, so that it is carried out again at `due_at`."""
    if tx.change(_POSTPONE, {"item": item_id, "claimer": tx.owner, "moment": due_at}):
        free_slots(tx, item_id)
        tx.wake_at(due_at)


def free_slots(tx: Transaction, item_id: str) -> None:
    """Free the slots of an item and claim parked items that wait for them."""
    for key in release_slots(tx, item_id):
        unpark_items(tx, key)


def unpark_items(tx: Transaction, key: str) -> None:
    """Claim items that are parked on a limit, as long as it has free slots."""
    for row in tx.run(_PARKED, {"blocker": key}).all():
        if claim_item(tx, row) == key:
            return


def claim_item(tx: Transaction, row: Row) -> str | None:
    """Claim a waiting or parked item and add its call; when a limit is full, park it and return the limit's key."""
    blocker = acquire_slots(tx, row.id, [(key, limit) for key, limit in json.loads(row.limits)] if row.limits else [])
    if blocker is not None:
        if row.blocked_on != blocker:
            tx.run_later(_PARK, {"item": row.id, "blocker": blocker})
        return blocker
    tx.run_later(_CLAIM, {"item": row.id, "claimer": tx.owner})
    _add_call(tx, row.id, row, limited=row.limits is not None)
    return None


def list_due_items(tx: Transaction, limit: int) -> list[Row]:
    """Return at most `limit` due items, oldest first."""
    return list(tx.run(_DUE, {"moment": tx.now, "limit": limit}).all())


def is_outgoing(row: Row) -> bool:
    """Whether the item is carried out as an HTTP call."""
    return row.kind in _OUTGOING


def read_next_due(tx: Transaction) -> int | None:
    """Return the earliest due time of the waiting items."""
    moment: int | None = tx.run(_NEXT_DUE).scalar()
    return moment


def drop_item(tx: Transaction, item_id: str) -> None:
    """Remove an item that needs no call, such as a timer."""
    tx.run_later(_DELETE, {"item": item_id})


def drop_step_items(tx: Transaction, run_id: str, step_id: str) -> None:
    """Remove the timer of a step that is done."""
    tx.run_later(_DELETE_STEP, {"run": run_id, "step": step_id})


def drop_subject_items(tx: Transaction, subject: str) -> None:
    """Remove the items of a schedule, a debounce or a batch."""
    tx.run_later(_DELETE_SUBJECT, {"subject_key": subject})


def drop_run_items(tx: Transaction, run_id: str) -> None:
    """Remove all items of a run that has ended, claimed ones too, so that late answers find no item to take."""
    found = [row.id for row in tx.run(_LIST_RUN, {"run": run_id})]
    if found:
        tx.run_later(_DELETE_RUN, {"run": run_id})
    for item_id in found:
        free_slots(tx, item_id)


def run_has_items(tx: Transaction, run_id: str) -> bool:
    """Whether anything is queued for the run."""
    return tx.run(_ANY_OF_RUN, {"run": run_id}).first() is not None


def _add_call(tx: Transaction, item_id: str, item: QueueItem | Row, *, limited: bool) -> None:
    """Add the call of a claimed item to the transaction; the first one starts the run."""
    run_id, step_id = item.run_id or "", item.step_id or ""
    cached = tx.cached_runs.get(run_id)
    if cached is None:
        row = tx.run(_RUN, {"run": run_id}).one()
        cached = CachedRun(row, bool(row.plan_only), row.state_size)
    run = cached.row
    if run.status == QUEUED:
        tx.run_later(_STARTED, {"run": run_id, "moment": tx.now})
        function = tx.registry.by_id.get(run.function_id)
        if function is not None and function.finish_timeout_ms is not None:
            put_item(tx, QueueItem(FINISH_TIMEOUT, tx.now + function.finish_timeout_ms, run_id=run_id))
    memos = [] if item.kind == GATEWAY else _read_stack(tx, run_id)
    tx.calls.append(
        AppCall(
            item_id=item_id,
            kind=item.kind,
            run_id=run_id,
            function_id=run.function_id,
            step_id=step_id,
            attempt=item.attempt,
            max_attempts=item.max_attempts,
            plan_only=cached.plan_only,
            sdk_version=run.sdk_version,
            state_size=cached.state_size,
            events=run.events,
            memos=memos,
            limited=limited,
            batched=run.batch_id is not None,
            body=item.body,
        )
    )


def _read_stack(tx: Transaction, run_id: str) -> list[tuple[str, str]]:
    cached = tx.cached_stacks.get(run_id)
    if cached is not None:
        return list(cached)
    return [(row.step_id, row.memo) for row in tx.run(_MEMOS, {"run": run_id})]

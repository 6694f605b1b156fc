"""The inbox of a task. Delivery is not reading: a step claims its inputs, then consumes them with its decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from core.database import Scope
from core.sql import statements
from runtime.inbox.messages import set_message_state
from runtime.inbox.turn_queue import wake_task
from runtime.statuses import READ_INPUT_STATES, UNREAD_INPUT_STATES, InputKind, InputState, MessageState
from runtime.tables import cards, inbox, messages
from runtime.tasks import tasks

_CLAIM = (
    statements.update(inbox)
    .where(
        inbox.c.task_id == sa.bindparam("task"),
        statements.one_of(inbox.c.state, *UNREAD_INPUT_STATES),
    )
    .values(state=InputState.CLAIMED, turn_id=sa.bindparam("by_turn"), step=sa.bindparam("by_step"))
    .returning(*inbox.c)
)
_READ_BY_TURNS = (
    statements.select(inbox)
    .where(inbox.c.turn_id.in_(sa.bindparam("of_turns", expanding=True)), inbox.c.state == InputState.CONSUMED)
    .order_by(inbox.c.position)
)
_READ_AFTER = (
    statements.select(inbox)
    .where(
        inbox.c.task_id == sa.bindparam("task"),
        inbox.c.turn_id == sa.bindparam("of_turn"),
        inbox.c.step > sa.bindparam("of_step"),
        inbox.c.state == InputState.CONSUMED,
    )
    .order_by(inbox.c.position)
)


@dataclass(frozen=True)
class InboxItem:
    """One input of a task. `ref_id` is the id of the message, order, card, object or skill; `position` counts up in
    the order of reading.
    """

    id: str
    task_id: str
    kind: InputKind
    ref_id: str
    state: InputState
    position: int | None
    turn_id: str | None
    step: int | None
    created_at: datetime
    consumed_at: datetime | None


def _item_from_row(row: sa.Row[Any]) -> InboxItem:
    fields = dict(row._mapping)
    fields.pop("workspace_id")
    fields["kind"], fields["state"] = InputKind(fields["kind"]), InputState(fields["state"])
    return InboxItem(**fields)


def store_input(scope: Scope, task_id: str, kind: InputKind, ref_id: str) -> bool:
    """Store an input once, without waking its task; an input that was moved away and comes back is delivered again."""
    added = scope.insert_new(
        inbox,
        id=scope.ids.new("in"),
        task_id=task_id,
        kind=kind,
        ref_id=ref_id,
        state=InputState.DELIVERED,
        created_at=scope.now,
    )
    if not added:
        moved = scope.update(inbox).where(_is(task_id, kind, ref_id), inbox.c.state == InputState.MOVED)
        # Reset it as if no step had tried it, so that `find_untried_input` finds it.
        as_new = {
            "id": scope.ids.new("in"),
            "state": InputState.DELIVERED,
            "turn_id": None,
            "step": None,
            "created_at": scope.now,
        }
        added = scope.change(moved.values(**as_new)) == 1
    if added:
        scope.changed("task", task_id)
    return added


def deliver_input(scope: Scope, task_id: str, kind: InputKind, ref_id: str) -> None:
    """Store an input once and wake the task to read it."""
    tasks.lock_task(scope, task_id)
    store_input(scope, task_id, kind, ref_id)
    # The cause names the delivery, not the message: one that is moved to another task wakes that task too.
    item_id = scope.scalar(scope.select(inbox.c.id).where(_is(task_id, kind, ref_id)))
    wake_task(scope, task_id, f"{kind}:{item_id}")


def _is(task_id: str, kind: InputKind, ref_id: str) -> sa.ColumnElement[bool]:
    return sa.and_(inbox.c.task_id == task_id, inbox.c.kind == kind, inbox.c.ref_id == ref_id)


def list_unread(scope: Scope, task_id: str) -> list[InboxItem]:
    """List inputs that no step has read, oldest first."""
    query = scope.select(inbox).where(inbox.c.task_id == task_id, inbox.c.state.in_(UNREAD_INPUT_STATES))
    return [_item_from_row(row) for row in scope.rows(query.order_by(inbox.c.created_at, inbox.c.id))]


def claim_inbox(scope: Scope, task_id: str, turn_id: str, step: int) -> list[InboxItem]:
    """Claim all unread inputs for a step, oldest first; what is not consumed later can be claimed again."""
    claimed = [_item_from_row(row) for row in scope.rows(_CLAIM, task=task_id, by_turn=turn_id, by_step=step)]
    return sorted(claimed, key=lambda item: (item.created_at, item.id))


def consume_inbox(scope: Scope, items: list[InboxItem], turn_id: str, step: int) -> None:
    """Record that a step has read the items, in their order, in the transaction that stores its decision."""
    if not items:
        return
    last = scope.scalar(
        scope.select(inbox.c.position)
        .where(inbox.c.task_id == items[0].task_id, inbox.c.position.is_not(None))
        .order_by(inbox.c.position.desc())
        .limit(1)
    )
    for position, item in enumerate(items, start=(last or 0) + 1):
        scope.change(
            scope.update(inbox)
            .where(inbox.c.id == item.id, inbox.c.state == InputState.CLAIMED, inbox.c.turn_id == turn_id)
            .values(state=InputState.CONSUMED, step=step, position=position, consumed_at=scope.now)
        )
        if item.kind == InputKind.MESSAGE:
            set_message_state(
                scope, item.ref_id, MessageState.CONSUMED, was=(MessageState.DELIVERED, MessageState.ROUTED)
            )


def unclaim_inbox(scope: Scope, task_id: str) -> None:
    """Make claimed inputs unread again; their `turn_id` and `step` still say which step has tried them."""
    scope.change(
        scope.update(inbox)
        .where(inbox.c.task_id == task_id, inbox.c.state == InputState.CLAIMED)
        .values(state=InputState.DELIVERED)
    )


def supersede_inbox(scope: Scope, task_id: str) -> None:
    """Supersede the unread inputs of a task that has ended."""
    unread_items = scope.update(inbox).where(inbox.c.task_id == task_id, inbox.c.state.in_(UNREAD_INPUT_STATES))
    for row in scope.rows(unread_items.values(state=InputState.SUPERSEDED).returning(inbox.c.kind, inbox.c.ref_id)):
        if row.kind == InputKind.MESSAGE:
            set_message_state(
                scope, row.ref_id, MessageState.SUPERSEDED, was=(MessageState.ROUTED, MessageState.DELIVERED)
            )


def find_untried_input(scope: Scope, task_id: str, turn_id: str, since: datetime) -> str | None:
    """Return the id of the oldest unread input stored after `since` that no step of the turn has tried to read."""
    untried = sa.or_(inbox.c.turn_id.is_(None), inbox.c.turn_id != turn_id)
    mine = sa.and_(inbox.c.task_id == task_id, inbox.c.state == InputState.DELIVERED)
    query = scope.select(inbox.c.id).where(mine, inbox.c.created_at > since, untried)
    row = scope.first(query.order_by(inbox.c.created_at, inbox.c.id).limit(1))
    return None if row is None else str(row.id)


def list_read_by_turns(scope: Scope, turn_ids: Sequence[str]) -> list[InboxItem]:
    """List what the steps of these turns have read, in the order of reading."""
    return [_item_from_row(row) for row in scope.rows(_READ_BY_TURNS, of_turns=list(turn_ids))]


def list_read_after_step(scope: Scope, task_id: str, turn_id: str, step: int) -> list[InboxItem]:
    """List what the steps of a turn after `step` have read, in the order of reading."""
    return [_item_from_row(row) for row in scope.rows(_READ_AFTER, task=task_id, of_turn=turn_id, of_step=step)]


def find_last_message_read(scope: Scope, task_id: str) -> str | None:
    """Return the id of the message that a task has read last; None when it has read none."""
    query = scope.select(inbox).where(
        inbox.c.task_id == task_id, inbox.c.kind == InputKind.MESSAGE, inbox.c.state == InputState.CONSUMED
    )
    row = scope.first(query.order_by(inbox.c.position.desc()).limit(1))
    return None if row is None else str(row.ref_id)


def list_read_by_turn(scope: Scope, turn_id: str) -> list[InboxItem]:
    """List what the steps of a turn have read, in the order of reading."""
    return list_read_by_turns(scope, [turn_id])


def has_program_spoken(scope: Scope, task_id: str) -> bool:
    """Tell whether a step of the task has read, or is reading, a program's message or its answer to a card."""
    read = scope.select(inbox.c.id).where(inbox.c.task_id == task_id, inbox.c.state.in_(READ_INPUT_STATES))
    wrote = read.where(
        inbox.c.kind == InputKind.MESSAGE, messages.c.id == inbox.c.ref_id, messages.c.asked_by == "program"
    )
    chose = read.where(inbox.c.kind == InputKind.ANSWER, cards.c.id == inbox.c.ref_id, cards.c.answered_as == "program")
    return any(scope.first(query.limit(1)) is not None for query in (wrote, chose))


def is_all_withdrawn(scope: Scope, task_id: str) -> bool:
    """Tell whether every input of the task was withdrawn, replaced or moved away before a step read it."""
    states = scope.rows(scope.select(inbox.c.state).where(inbox.c.task_id == task_id).distinct())
    return bool(states) and {row.state for row in states} <= {
        InputState.WITHDRAWN,
        InputState.REPLACED,
        InputState.MOVED,
    }

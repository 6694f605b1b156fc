"""The last message of a task, as long as it is not outdated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from core.database import Scope
from generation.orders.states import OPEN_ORDER_STATES
from generation.tables import orders
from runtime.inbox import messages
from runtime.inbox.messages import Message
from runtime.statuses import ENDED_TASK_STATUSES, CardState
from runtime.tables import cards
from runtime.tables import messages as message_rows
from runtime.tables import tasks as task_rows
from runtime.tasks.tasks import Task


@dataclass
class _Settled:
    """The open and settled cards and orders of a task."""

    open_cards: bool = False
    closed_cards: list[sa.Row[Any]] = field(default_factory=list)
    being_made: bool = False
    made_at: list[datetime] = field(default_factory=list)


def last_messages(scope: Scope, some: Sequence[Task]) -> dict[str, Message]:
    """Return each task's newest message by task id, without those whose card, order or task is settled since."""
    newest_by_task = {
        message.task_id: message
        for message in messages.list_messages_by_ids(scope, _newest_ids(scope, [task.id for task in some]))
    }
    speaking = [task for task in some if task.id in newest_by_task]
    settled = _settled(scope, [task.id for task in speaking])
    return {
        task.id: newest_by_task[task.id]
        for task in speaking
        if not _is_outdated(settled[task.id], task, newest_by_task[task.id])
    }


def _newest_ids(scope: Scope, task_ids: Sequence[str]) -> list[str]:
    newest = (
        sa.select(message_rows.c.id)
        .where(
            message_rows.c.workspace_id == task_rows.c.workspace_id,
            message_rows.c.task_id == task_rows.c.id,
            message_rows.c.author == "agent",
        )
        .order_by(message_rows.c.created_at.desc(), message_rows.c.id.desc())
        .limit(1)
        .correlate(task_rows)
        .scalar_subquery()
    )
    query = scope.select(task_rows.c.id, newest.label("message_id")).where(task_rows.c.id.in_(task_ids))
    return [row.message_id for row in scope.rows(query) if row.message_id is not None]


def _settled(scope: Scope, task_ids: Sequence[str]) -> dict[str, _Settled]:
    found = {task_id: _Settled() for task_id in task_ids}
    closed = scope.select(
        cards.c.task_id, cards.c.turn_id, cards.c.state, sa.func.max(cards.c.answered_at).label("answered_at")
    ).where(cards.c.task_id.in_(task_ids))
    for row in scope.rows(closed.group_by(cards.c.task_id, cards.c.turn_id, cards.c.state)):
        if row.state == CardState.OPEN:
            found[row.task_id].open_cards = True
        else:
            found[row.task_id].closed_cards.append(row)
    made = scope.select(orders.c.task_id, orders.c.state, sa.func.max(orders.c.ended_at).label("ended_at"))
    for row in scope.rows(made.where(orders.c.task_id.in_(task_ids)).group_by(orders.c.task_id, orders.c.state)):
        if row.state in OPEN_ORDER_STATES:
            found[row.task_id].being_made = True
        if row.ended_at is not None:
            found[row.task_id].made_at.append(row.ended_at)
    return found


def _is_outdated(settled: _Settled, task: Task, message: Message) -> bool:
    """Return whether a card, an order or the task was settled after the message, which may speak of it as open."""
    if not settled.open_cards and any(_closed_since(card, task, message) for card in settled.closed_cards):
        return True
    made_since = any(at > message.created_at for at in settled.made_at)
    if task.status in ENDED_TASK_STATUSES:
        return settled.being_made or made_since
    return not settled.being_made and made_since


def _closed_since(card: sa.Row[Any], task: Task, message: Message) -> bool:
    # A card closed without an answer has no time; then compare its turn, or see whether it was closed with the task.
    of_its_turn = message.turn_id is not None and card.turn_id == message.turn_id
    with_the_task = card.state == CardState.VOID and task.status in ENDED_TASK_STATUSES
    return of_its_turn or with_the_task or (card.answered_at is not None and card.answered_at > message.created_at)

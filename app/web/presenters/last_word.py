"""What a task said last, as long as it is so."""

from __future__ import annotations

import sqlalchemy as sa

from core.database import Scope
from generation.states import OPEN
from generation.tables import orders
from runtime import messages, tasks
from runtime.messages import Message
from runtime.tables import cards
from runtime.tasks import Task


def last_word(scope: Scope, task: Task) -> Message | None:
    """The newest words of a task; None once what they speak of has been settled: a card, an order, the task itself."""
    said = next((one for one in reversed(messages.of_task(scope, task.id, 20)) if one.author == "agent"), None)
    return None if said is None or _is_over(scope, task, said) else said


def _is_over(scope: Scope, task: Task, said: Message) -> bool:
    if not _any(scope, cards, task, cards.c.state == "open") and _any(scope, cards, task, _closed_since(task, said)):
        return True
    being_made = _any(scope, orders, task, orders.c.state.in_(OPEN))
    if task.status in tasks.ENDED:
        return being_made or _any(scope, orders, task, orders.c.ended_at > said.created_at)
    return not being_made and _any(scope, orders, task, orders.c.ended_at > said.created_at)


def _closed_since(task: Task, said: Message) -> sa.ColumnElement[bool]:
    # What closes a card without an answer leaves no time: then it is one of the same turn, or closed with the task.
    of_its_turn = sa.false() if said.turn_id is None else cards.c.turn_id == said.turn_id
    with_the_task = cards.c.state == "void" if task.status in tasks.ENDED else sa.false()
    return sa.and_(cards.c.state != "open", sa.or_(cards.c.answered_at > said.created_at, of_its_turn, with_the_task))


def _any(scope: Scope, table: sa.Table, task: Task, which: sa.ColumnElement[bool]) -> bool:
    query = scope.select(table.c.id).where(table.c.task_id == task.id, which)
    return scope.first(query.limit(1)) is not None

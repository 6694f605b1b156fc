"""The card that asks a person where a message belongs."""

from __future__ import annotations

from core.database import Scope
from core.errors import NotFoundError
from router.decided import Decided
from router.index import LIVING
from router.sentences import sentence, short
from runtime import cards, tasks
from runtime.cards import Card
from runtime.messages import Message
from runtime.tasks import Task

NEW = "new"


def ask(scope: Scope, message: Message, decided: Decided) -> Card:
    """One option for each candidate that can still take the message, then `new`."""
    offered = [task for one in decided.candidates for task in [_living(scope, one.task_id)] if task is not None]
    return cards.open_card(
        scope,
        kind="clarify",
        title=sentence(message.language, "which"),
        body=short(message.text, 400),
        options=[
            *({"id": task.id, "label": short(task.goal)} for task in offered),
            {"id": NEW, "label": sentence(message.language, "new")},
        ],
        cause=f"route:{message.id}",
        message_id=message.id,
        subject={"message_id": message.id, "task_ids": [task.id for task in offered]},
    )


def _living(scope: Scope, task_id: str) -> Task | None:
    try:
        task = tasks.get(scope, task_id)
    except NotFoundError:
        return None
    return task if task.status in LIVING else None

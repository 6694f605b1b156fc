"""Delivery of a routed message to a new or existing task, or an explanation to its person."""

from __future__ import annotations

from core.database import Scope
from core.errors import NotFoundError
from router.decision import RouteDecision, revise_decision
from router.dependencies import RouteWorks
from router.facts import LIVING_STATUSES
from router.language import SentenceName, router_sentence
from runtime.inbox import inbox, messages
from runtime.inbox.messages import Message, set_message_state
from runtime.inbox.turn_queue import wake_task
from runtime.statuses import InputKind, MessageState, TaskStatus
from runtime.tables import messages as message_rows
from runtime.tasks import tasks
from runtime.tasks.tasks import Task


def deliver_to_new_task(
    scope: Scope, works: RouteWorks, message: Message, decision: RouteDecision, kind: str, cause: str | None = None
) -> Task:
    """Make a task for the message, with the person's words as its goal.

    The cause of the task is the message's id, or `cause` for a message that is moved.
    """
    task = tasks.create_task(
        scope,
        kind=kind,
        goal=message.text[: tasks.LONGEST_GOAL] or "(see the attached works)",
        language=message.language,
        person_id=message.person_id,
        asked_by=message.asked_by,
        cause=cause or message.id,
    )
    revise_decision(scope, message.id, decision.outcome if decision.outcome in {"light", "new"} else "new", task.id, "")
    _hand_over(scope, works, message, decision, task, cause)
    return task


def deliver_to_task(
    scope: Scope, works: RouteWorks, message: Message, decision: RouteDecision, task: Task, cause: str | None = None
) -> None:
    """Put the message into the inbox of an existing task, and switch the task to the message's language."""
    if message.language and message.language != task.language:
        tasks.set_task_fields(scope, task.id, language=message.language)
    _hand_over(scope, works, message, decision, task, cause)


def find_obstacle(scope: Scope, task_id: str | None) -> tuple[SentenceName, str] | None:
    """Return why a task cannot take a message, with the task's goal; None when it can."""
    if task_id is None:
        return "deleted", ""
    try:
        task = tasks.lock_task(scope, task_id)
    except NotFoundError:
        return "unknown", ""
    if task.status in LIVING_STATUSES:
        return None
    return ("archived" if task.status == TaskStatus.ARCHIVED else "stopped"), task.goal


def _hand_over(
    scope: Scope, works: RouteWorks, message: Message, decision: RouteDecision, task: Task, cause: str | None
) -> None:
    for work in works.by_ids(scope, [*decision.object_ids, *message.attachments]):
        works.link(scope, work.id, task.id)
    scope.change(scope.update(message_rows).where(message_rows.c.id == message.id).values(task_id=task.id))
    set_message_state(scope, message.id, MessageState.DELIVERED, was=(MessageState.ROUTED,))
    inbox.store_input(scope, task.id, InputKind.MESSAGE, message.id)
    wake_task(scope, task.id, cause or f"message:{message.id}")


def explain_no_delivery(scope: Scope, message: Message, name: SentenceName, goal: str = "") -> None:
    """Answer a message that no task takes with the sentence of this name."""
    messages.store_agent_message(
        scope,
        person_id=message.person_id,
        text=router_sentence(message.language, name, goal),
        task_id=None,
        reply_to=message.id,
        cause=f"route:{message.id}",
        language=message.language,
    )
    set_message_state(scope, message.id, MessageState.ANSWERED, was=(MessageState.ROUTED,))

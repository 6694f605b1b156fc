"""Doing what was decided: one transaction, entered by a compare-and-set on the message, so it happens once."""

from __future__ import annotations

from typing import assert_never

from core.bells import Bell
from core.database import Scope
from core.errors import NotFoundError
from core.events import MessageReceived
from router import recording
from router.asking import ask
from router.decided import Decided
from router.index import LIVING
from router.parts import RouterParts, Works
from router.sentences import Name, sentence
from runtime import inbox, messages, tasks
from runtime.messages import Message, set_state
from runtime.tables import messages as message_rows
from runtime.tasks import Task
from runtime.wake import queue_main, wake

LONGEST_GOAL = 4000
"""Characters of a message that become its task's goal; the worker reads the whole message from its inbox."""


def deliver(parts: RouterParts, workspace_id: str, message_id: str) -> str:
    """Act on the stored decision; answers what became of the message. Rings for the person's next message."""
    with parts.database.transaction(workspace_id, "route.delivered") as scope:
        message, decided = messages.get(scope, message_id), recording.stored(scope, message_id)
        # Without a decision it was taken back while the model was asked.
        if decided is not None and set_state(scope, message_id, "routed", was=("received",), routed_at=scope.now):
            act(scope, parts.works, messages.get(scope, message_id), decided)
        following = messages.oldest_unrouted(scope, message.person_id)
        if following is not None:
            event = MessageReceived(workspace_id=workspace_id, message_id=following.id)
            scope.ring(Bell(event, id=f"{following.id}:after-{message_id}"))
        return messages.get(scope, message_id).state


def act(scope: Scope, works: Works, message: Message, decided: Decided) -> None:
    """The effects of a decision on a message that has just been routed."""
    match decided.outcome:
        case "main":
            queue_main(scope, message)
        case "ask":
            ask(scope, message, decided)
        case "existing":
            _to_existing(scope, works, message, decided)
        case "light":
            to_new(scope, works, message, decided, "light")
        case "new":
            to_new(scope, works, message, decided, "persistent")
        case _:
            assert_never(decided.outcome)


def to_new(scope: Scope, works: Works, message: Message, decided: Decided, kind: str, cause: str | None = None) -> Task:
    """Make the message's own task; its goal is the person's words. `cause` differs from the first when it was moved."""
    task = tasks.create(
        scope,
        kind=kind,
        goal=message.text[:LONGEST_GOAL] or "(see the attached works)",
        language=message.language,
        person_id=message.person_id,
        asked_by=message.asked_by,
        cause=cause or message.id,
    )
    recording.revise(scope, message.id, decided.outcome if decided.outcome in {"light", "new"} else "new", task.id, "")
    _hand_over(scope, works, message, decided, task, cause)
    return task


def to_task(
    scope: Scope, works: Works, message: Message, decided: Decided, task: Task, cause: str | None = None
) -> None:
    """Put the message into the inbox of a task that was there before; the task follows the person's language."""
    if message.language and message.language != task.language:
        tasks.set_fields(scope, task.id, language=message.language)
    _hand_over(scope, works, message, decided, task, cause)


def obstacle(scope: Scope, task_id: str | None) -> tuple[Name, str] | None:
    """Why a task cannot take a message, with its goal; None when it can."""
    if task_id is None:
        return "deleted", ""
    try:
        task = tasks.lock(scope, task_id)
    except NotFoundError:
        return "unknown", ""
    if task.status in LIVING:
        return None
    return ("archived" if task.status == "archived" else "stopped"), task.goal


def _to_existing(scope: Scope, works: Works, message: Message, decided: Decided) -> None:
    wrong = obstacle(scope, decided.task_id)
    if wrong is None and decided.task_id is not None:
        to_task(scope, works, message, decided, tasks.get(scope, decided.task_id))
        return
    name, goal = wrong or ("unknown", "")
    messages.say(
        scope,
        person_id=message.person_id,
        text=sentence(message.language, name, goal),
        task_id=None,
        reply_to=message.id,
        cause=f"route:{message.id}",
        language=message.language,
    )
    set_state(scope, message.id, "answered", was=("routed",))


def _hand_over(scope: Scope, works: Works, message: Message, decided: Decided, task: Task, cause: str | None) -> None:
    for work in works.by_ids(scope, [*decided.object_ids, *message.attachments]):
        works.link(scope, work.id, task.id)
    scope.change(scope.update(message_rows).where(message_rows.c.id == message.id).values(task_id=task.id))
    set_state(scope, message.id, "delivered", was=("routed",))
    inbox.put(scope, task.id, "message", message.id)
    wake(scope, task.id, cause or f"message:{message.id}")

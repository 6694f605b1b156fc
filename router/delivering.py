"""Doing what was decided: one transaction, entered by a compare-and-set on the message, so it happens once."""

from __future__ import annotations

from typing import assert_never

from core.bells import Bell
from core.database import Scope
from core.events import MessageReceived
from router import recording, replying
from router.asking import ask
from router.decided import Decided
from router.handing import obstacle, say_why, to_new, to_task
from router.parts import RouterParts, Works
from runtime import messages, tasks
from runtime.messages import Message, set_state
from runtime.wake import queue_main


def deliver(parts: RouterParts, workspace_id: str, message_id: str) -> str:
    """Act on the stored decision; answers what became of the message. Rings for the person's next message."""
    with parts.database.transaction(workspace_id, "route.delivered") as scope:
        message, decided = messages.get(scope, message_id), recording.stored(scope, message_id)
        # Without a decision it was taken back while the model was asked.
        if decided is not None and set_state(scope, message_id, "routed", was=("received",), routed_at=scope.now):
            routed = messages.get(scope, message_id)
            if not replying.answered(scope, parts.works, routed, decided):
                act(scope, parts.works, routed, decided)
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


def _to_existing(scope: Scope, works: Works, message: Message, decided: Decided) -> None:
    wrong = obstacle(scope, decided.task_id)
    if wrong is None and decided.task_id is not None:
        to_task(scope, works, message, decided, tasks.get(scope, decided.task_id))
        return
    name, goal = wrong or ("unknown", "")
    say_why(scope, message, name, goal)

"""Act on the stored decision in one transaction. A compare-and-set on the message makes it happen once."""

from __future__ import annotations

from typing import assert_never

from core.database import Scope
from core.events import Bell, MessageReceived
from router import clarification, decision
from router.clarification import open_clarify_card
from router.decision import RouteDecision
from router.delivery import deliver_to_new_task, deliver_to_task, explain_no_delivery, find_obstacle
from router.dependencies import RouterDependencies, RouteWorks
from runtime.inbox import messages
from runtime.inbox.messages import Message, set_message_state
from runtime.inbox.turn_queue import queue_main_turn
from runtime.statuses import MessageState
from runtime.tasks import tasks


def dispatch_message(dependencies: RouterDependencies, workspace_id: str, message_id: str) -> str:
    """Act on the stored decision; answers what became of the message. Rings for the person's next message."""
    with dependencies.database.transaction(workspace_id, "route.delivered") as scope:
        message, decided = messages.get_message(scope, message_id), decision.find_decision(scope, message_id)
        # Without a decision it was taken back while the model was asked.
        if decided is not None and set_message_state(
            scope, message_id, MessageState.ROUTED, was=(MessageState.RECEIVED,), routed_at=scope.now
        ):
            routed = messages.get_message(scope, message_id)
            if not clarification.answer_question(scope, dependencies.works, routed, decided):
                act_on_decision(scope, dependencies.works, routed, decided)
        following = messages.find_oldest_unrouted(scope, message.person_id)
        if following is not None:
            event = MessageReceived(workspace_id=workspace_id, message_id=following.id)
            scope.ring(Bell(event, id=f"{following.id}:after-{message_id}"))
        return messages.get_message(scope, message_id).state


def act_on_decision(scope: Scope, works: RouteWorks, message: Message, decided: RouteDecision) -> None:
    """The effects of a decision on a message that has just been routed."""
    match decided.outcome:
        case "main":
            queue_main_turn(scope, message)
        case "ask":
            open_clarify_card(scope, message, decided)
        case "existing":
            _to_existing(scope, works, message, decided)
        case "light":
            deliver_to_new_task(scope, works, message, decided, "light")
        case "new":
            deliver_to_new_task(scope, works, message, decided, "persistent")
        case _:
            assert_never(decided.outcome)


def _to_existing(scope: Scope, works: RouteWorks, message: Message, decided: RouteDecision) -> None:
    wrong = find_obstacle(scope, decided.task_id)
    if wrong is None and decided.task_id is not None:
        deliver_to_task(scope, works, message, decided, tasks.get_task(scope, decided.task_id))
        return
    name, goal = wrong or ("unknown", "")
    explain_no_delivery(scope, message, name, goal)

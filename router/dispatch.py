"""Dispatch of a message: act once on its stored decision, in one transaction."""

from __future__ import annotations

from typing import assert_never

from core.database import Scope
from core.events import Bell, MessageReceived
from router import clarification
from router.clarification import open_clarify_card
from router.decision import RouteDecision, find_decision
from router.delivery import deliver_to_new_task, deliver_to_task, explain_no_delivery, find_obstacle
from router.dependencies import RouterDependencies, RouteWorks
from runtime.inbox import messages
from runtime.inbox.messages import Message, set_message_state
from runtime.inbox.turn_queue import queue_main_turn
from runtime.statuses import MessageState
from runtime.tasks import tasks


def dispatch_message(dependencies: RouterDependencies, workspace_id: str, message_id: str) -> str:
    """Act on the stored decision, ring for the person's next message, and return the message's state.

    A compare-and-set on the message's state makes this happen once.
    """
    with dependencies.database.transaction(workspace_id, "route.delivered") as scope:
        message, decision = messages.get_message(scope, message_id), find_decision(scope, message_id)
        # Without a decision the message was withdrawn while the model was asked.
        if decision is not None and set_message_state(
            scope, message_id, MessageState.ROUTED, was=(MessageState.RECEIVED,), routed_at=scope.now
        ):
            routed = messages.get_message(scope, message_id)
            if not clarification.answer_question(scope, dependencies.works, routed, decision):
                act_on_decision(scope, dependencies.works, routed, decision)
        next_message = messages.find_oldest_unrouted(scope, message.person_id)
        if next_message is not None:
            event = MessageReceived(workspace_id=workspace_id, message_id=next_message.id)
            scope.ring(Bell(event, id=f"{next_message.id}:after-{message_id}"))
        return messages.get_message(scope, message_id).state


def act_on_decision(scope: Scope, works: RouteWorks, message: Message, decision: RouteDecision) -> None:
    """Act on the decision about a message that has just been routed."""
    match decision.outcome:
        case "main":
            queue_main_turn(scope, message)
        case "ask":
            open_clarify_card(scope, message, decision)
        case "existing":
            _deliver_to_existing(scope, works, message, decision)
        case "light":
            deliver_to_new_task(scope, works, message, decision, "light")
        case "new":
            deliver_to_new_task(scope, works, message, decision, "persistent")
        case _:
            assert_never(decision.outcome)


def _deliver_to_existing(scope: Scope, works: RouteWorks, message: Message, decision: RouteDecision) -> None:
    obstacle = find_obstacle(scope, decision.task_id)
    if obstacle is None and decision.task_id is not None:
        deliver_to_task(scope, works, message, decision, tasks.get_task(scope, decision.task_id))
        return
    name, goal = obstacle or ("unknown", "")
    explain_no_delivery(scope, message, name, goal)

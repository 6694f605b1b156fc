"""Answers to the runtime's own cards: a blocked task, and the result of a light task."""

from __future__ import annotations

from collections.abc import Mapping

from core.database import Scope
from runtime.cards.answers import AnswerHandler, CardAct, deliver_card_answer
from runtime.cards.cards import Card
from runtime.commands import control
from runtime.statuses import CardKind, TaskStatus
from runtime.tasks import tasks


def answer_blocked_card(scope: Scope, card: Card) -> None:
    """Stop the task for `stop`; for `retry`, resume it if it is still paused or blocked."""
    if card.task_id is None:
        return
    if card.answer_option == "stop":
        control.stop_task(scope, card.task_id)
    elif tasks.lock_task(scope, card.task_id).status in (TaskStatus.PAUSED, TaskStatus.BLOCKED):
        control.resume_task(scope, card.task_id)


def answer_result_card(scope: Scope, card: Card) -> None:
    """For `change`, make the light task a persistent one and deliver the answer to it; `accept` needs nothing more."""
    if card.task_id is not None and card.answer_option == "change":
        control.promote_task(scope, card.task_id)
        deliver_card_answer(scope, card)


RUNTIME_CARD_ANSWERS: Mapping[CardAct, AnswerHandler] = {
    (CardKind.BLOCKED, ""): answer_blocked_card,
    (CardKind.RESULT, ""): answer_result_card,
}

"""What an answered card does, for the kinds that belong to the runtime."""

from __future__ import annotations

from collections.abc import Mapping

from core.database import Scope
from runtime import cards, control, tasks
from runtime.cards import AnswerHandler, Card


def blocked(scope: Scope, card: Card) -> None:
    """`retry` takes the task up again, unless something else has done so before; `stop` stops it."""
    if card.task_id is None:
        return
    if card.answer_option == "stop":
        control.stop(scope, card.task_id)
    elif tasks.lock(scope, card.task_id).status in ("paused", "blocked"):
        control.resume(scope, card.task_id)


def result(scope: Scope, card: Card) -> None:
    """`accept` closes the matter; `change` goes on with it, so that a light task becomes a persistent one."""
    if card.task_id is not None and card.answer_option == "change":
        control.promote(scope, card.task_id)
        cards.deliver_answer(scope, card)


HANDLERS: Mapping[str, AnswerHandler] = {"blocked": blocked, "result": result}

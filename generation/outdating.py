"""Quotes that a newer one has overtaken: they ask no more, authorise nothing, and their task is told."""

from __future__ import annotations

from core.database import Scope
from runtime import cards, tasks
from runtime.cards import Card
from runtime.tables import cards as cards_table


def supersede_older(scope: Scope, card: Card) -> None:
    """Close the task's open quote and limit cards of other decisions than the one that this open card speaks of.

    Whoever calls has locked the task's row before the budget's.
    """
    if card.task_id is None or card.state != "open":
        return
    tasks.lock(scope, card.task_id)
    mine = decision_of(card)
    asking = scope.select(cards_table.c.id).where(
        cards_table.c.task_id == card.task_id,
        cards_table.c.state == "open",
        cards_table.c.kind.in_(("quote", "limit")),
        cards_table.c.id != card.id,
    )
    for row in scope.rows(asking.order_by(cards_table.c.created_at, cards_table.c.id)):
        older = cards.get(scope, row.id)
        if decision_of(older) != mine and cards.supersede(scope, older.id):
            cards.deliver_answer(scope, older)


def decision_of(card: Card) -> str:
    """The decision whose calls a quote or limit card speaks of: `turn:step`, empty where it speaks of none."""
    calls = card.subject.get("call_ids") or [""]
    return ":".join(str(calls[0]).split(":")[:2])

"""A card, with its answer where it has one."""

from __future__ import annotations

from typing import Any

from app.web.presenters.values import given, moment
from core.database import Scope
from runtime import cards
from runtime.cards import Card


def card_by_id(scope: Scope, card_id: str) -> dict[str, Any]:
    """Raises NotFoundError."""
    return card_shape(cards.get(scope, card_id))


def card_shape(card: Card) -> dict[str, Any]:
    answer = {
        "option": card.answer_option,
        "text": card.answer_text,
        "by": card.answered_by,
        "as": card.answered_as,
        "at": moment(card.answered_at),
    }
    always = {
        "id": card.id,
        "kind": card.kind,
        "title": card.title,
        "body": card.body,
        "options": [dict(option) for option in card.options],
        "state": card.state,
        "created_at": moment(card.created_at),
    }
    optional = {
        "task_id": card.task_id,
        "turn_id": card.turn_id,
        "message_id": card.message_id,
        "quote": None if card.quote is None else dict(card.quote),
        "answer": answer if card.answered_at is not None else None,
        "expires_at": moment(card.expires_at),
    }
    return {**always, **given(optional)}

"""The shape of a card, with its answer if it has one."""

from __future__ import annotations

from typing import Any, NotRequired, cast

from typing_extensions import TypedDict

from app.web.presenters.values import Amount, Moment, moment, without_nulls
from core.database import Scope
from runtime.cards import cards
from runtime.cards.cards import Card


class CardOption(TypedDict):
    id: str
    label: str
    danger: NotRequired[bool]


class CardQuote(TypedDict):
    """The spending that an answer would authorise."""

    amount: Amount
    currency: str
    lines: list[Any]
    plan_digest: NotRequired[str]


CardAnswer = TypedDict(
    "CardAnswer", {"option": str | None, "text": str | None, "by": str | None, "as": str | None, "at": Moment | None}
)


class CardLinks(TypedDict, total=False):
    """Members that not every card has."""

    task_id: str | None
    turn_id: str | None
    message_id: str | None
    quote: CardQuote | None
    answer: CardAnswer | None
    expires_at: Moment | None


class CardShape(CardLinks):
    id: str
    kind: str
    title: str
    body: str
    options: list[CardOption]
    state: str
    created_at: Moment


def card_by_id(scope: Scope, card_id: str) -> CardShape:
    """Return a card's shape. Raise NotFoundError."""
    return card_shape(cards.get_card(scope, card_id))


def card_shape(card: Card) -> CardShape:
    answer: CardAnswer = {
        "option": card.answer_option,
        "text": card.answer_text,
        "by": card.answered_by,
        "as": card.answered_as,
        "at": moment(card.answered_at),
    }
    links: CardLinks = {
        "task_id": card.task_id,
        "turn_id": card.turn_id,
        "message_id": card.message_id,
        "quote": None if card.quote is None else cast(CardQuote, dict(card.quote)),
        "answer": answer if card.answered_at is not None else None,
        "expires_at": moment(card.expires_at),
    }
    return {
        "id": card.id,
        "kind": card.kind,
        "title": card.title,
        "body": card.body,
        "options": [cast(CardOption, dict(option)) for option in card.options],
        "state": card.state,
        "created_at": moment(card.created_at),
        **without_nulls(links),
    }

"""Quotes: the price of a set of drafts on a card, and the digest that ties a person's approval to exactly that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any

from core.amounts import format_amount
from core.errors import RefusedError
from generation.orders.draft import OrderDraft
from generation.orders.request import digest_of
from runtime.cards.cards import Card

QUOTE_LIFETIME = timedelta(days=7)
"""How long a price stands on a card; then the card expires, and the task may ask for a fresh one."""
RAISE_HINT = "Raising the limit adds what is missing to the balance."
_KIND_NAMES = {"image": "picture", "video": "film", "audio": "sound", "model3d": "3D model"}


def total_price(drafts: Sequence[OrderDraft]) -> Decimal:
    return sum((draft.quote for draft in drafts), Decimal(0))


def build_quote(drafts: Sequence[OrderDraft]) -> dict[str, Any]:
    """The `quote` of a card: `{amount, currency, lines, plan_digest}`."""
    return {
        "amount": str(total_price(drafts)),
        "currency": drafts[0].currency,
        "lines": [draft.line() for draft in drafts],
        "plan_digest": plan_digest(drafts),
    }


def plan_digest(drafts: Sequence[OrderDraft]) -> str:
    return digest_of([draft.stored() for draft in drafts])


def build_quote_subject(drafts: Sequence[OrderDraft], turn_id: str) -> dict[str, Any]:
    """The stored facts that an answer acts on."""
    return {
        "turn_id": turn_id,
        "call_ids": [draft.call_id for draft in drafts],
        "orders": [draft.stored() for draft in drafts],
    }


def read_card_drafts(card: Card) -> list[OrderDraft]:
    """What a card offers; raises RefusedError when it is not what the quote was made for."""
    drafts = [OrderDraft.of(stored) for stored in card.subject.get("orders", ())]
    if not drafts or card.quote is None or card.quote.get("plan_digest") != plan_digest(drafts):
        raise RefusedError(f"card {card.id} does not hold what its quote was made for; nothing is ordered")
    return drafts


def covers_call(card_subject: Mapping[str, Any], call_id: str, digest: str) -> bool:
    """Whether a card was opened for this call with this wish."""
    return any(one["call_id"] == call_id and one["digest"] == digest for one in card_subject.get("orders", ()))


def describe_drafts(drafts: Sequence[OrderDraft]) -> str:
    """`3 pictures and 1 film for 0.37 USD`."""
    counts: dict[str, int] = {}
    for draft in drafts:
        counts[draft.kind] = counts.get(draft.kind, 0) + 1
    parts = [f"{count} {_KIND_NAMES[kind]}{'s' if count > 1 else ''}" for kind, count in counts.items()]
    return f"{' and '.join(parts)} for {format_amount(total_price(drafts), drafts[0].currency)}"

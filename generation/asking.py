"""The card that asks a person about money: a price to approve, or credit that is missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from core.database import Scope
from generation import quotes
from generation.drafts import Draft
from runtime import cards
from runtime.cards import Card, open_card

Kind = Literal["quote", "limit"]


def ask_about(
    scope: Scope, kind: Kind, drafts: Sequence[Draft], why: str, *, cause: str, task_id: str | None, turn_id: str
) -> Card:
    """Ask once per `cause`; `why` says as a sentence without its full stop what stands in the way of these drafts."""
    heading = quotes.heading(drafts)
    return open_card(
        scope,
        kind=kind,
        title=f"Approve {heading}?" if kind == "quote" else f"Not enough credit: {heading}",
        body=why if kind == "quote" else f"{why}. {quotes.RAISING}",
        options=cards.QUOTE_OPTIONS if kind == "quote" else cards.LIMIT_OPTIONS,
        cause=cause,
        task_id=task_id,
        turn_id=turn_id,
        quote=quotes.quote(drafts),
        subject=quotes.subject(drafts, turn_id),
        expires_at=scope.now + quotes.LAST,
    )

"""The card for a reached spending limit: one open card per skill and day, which only a person answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from typing import Literal

from core.amounts import format_amount
from core.database import Scope
from core.errors import ConflictError, RefusedError
from core.tables import roles
from runtime.cards import cards
from runtime.cards.cards import Card
from runtime.limits import credits
from runtime.statuses import CardKind, CardState
from runtime.tables import cards as card_rows

RAISE_ACT = "raise what a skill may spend on the model"
RETRY_AFTER = timedelta(minutes=15)
"""How long a skill waits before it asks the model again."""
BudgetLimit = Literal["skill", "day", "balance"]


@dataclass(frozen=True)
class DailyAllowance:
    """What a skill may spend in a day: `most`, and the id of the last card that raised it."""

    most: Decimal
    card_id: str | None


@dataclass(frozen=True)
class BudgetReached:
    """A reached limit: `why` explains it, `wait` says when to try again, None if a person said no for today."""

    why: str
    wait: timedelta | None


def read_allowance(scope: Scope, stem: str, day: date, budget: Decimal) -> DailyAllowance:
    """Return the skill's budget, or the amount that it was raised to on that day."""
    most, card_id = budget, None
    for card in _raising_cards(scope, stem, day):
        # Credit is added for everybody; it does not raise this skill's share.
        if card.subject["limit"] != "balance":
            most, card_id = max(most, Decimal(str(card.subject["raise_to"]))), card.id
    return DailyAllowance(most, card_id)


def open_budget_card(
    scope: Scope,
    *,
    stem: str,
    day: date,
    limit: BudgetLimit,
    spent: Decimal,
    needs: Decimal,
    most: Decimal,
    budget: Decimal,
    currency: str,
) -> BudgetReached:
    """Open the card for a reached limit, unless it is open already or was answered with no."""
    more = max(budget, needs)
    raise_to = max(most, spent) + more
    cause = f"{_cause(stem, day)}:{sum(1 for _ in _raising_cards(scope, stem, day))}"
    left = _end_of(day, scope) - scope.now
    said = partial(format_amount, currency=currency)
    has = f"{stem} has spent {said(spent)} on the model today and asks for up to {said(needs)} more"
    over = {
        "skill": f"it may spend {said(most)} a day",
        "day": "that is above what the workspace may spend in a day without asking",
        "balance": "that is more than is left of the credit",
    }[limit]
    does = f"adds {said(more)} of credit" if limit == "balance" else f"lets it spend up to {said(raise_to)} today"
    card = cards.open_card(
        scope,
        kind=CardKind.LIMIT,
        title=f"{stem} has reached today's limit for the model",
        body=f"{has}; {over}. Raising {does}. Until then its runs try again, or do without.",
        options=(
            {"id": "raise", "label": f"Add {said(more)}" if limit == "balance" else f"Up to {said(raise_to)} today"},
            {"id": "stop", "label": "No more today"},
        ),
        cause=cause,
        subject={
            "act": RAISE_ACT,
            "skill_id": stem,
            "day": day.isoformat(),
            "limit": limit,
            "spent": str(spent),
            "raise_to": str(raise_to),
            "more": str(more),
        },
        expires_at=scope.now + left,
    )
    if card.state == CardState.ANSWERED:
        return BudgetReached(f"{has}; {over}, and a person left it at that for today", None)
    told = f"{has}; {over}: a person is asked on the card {card.id}, and it is worth another try later"
    return BudgetReached(told, min(RETRY_AFTER, left))


def is_limit_reached(scope: Scope, stem: str) -> bool:
    """Return whether a limit of the skill is reached today and people have not answered, or said no."""
    day = credits.read_local_date(scope)
    last = f"{_cause(stem, day)}:{sum(1 for _ in _raising_cards(scope, stem, day))}"
    card = scope.first(scope.select(card_rows.c.state, card_rows.c.answer_option).where(card_rows.c.cause == last))
    return card is not None and (card.state == CardState.OPEN or card.answer_option == "stop")


def answer_budget_card(scope: Scope, card: Card) -> None:
    """Check an answer `raise`, and add credit if the balance was the limit; any other answer changes nothing.

    The answered card itself raises the day's limit. Raises ConflictError once the day is over, RefusedError if the
    person may not raise the limit; the card stays open then.
    """
    if card.answer_option != "raise":
        return
    role = scope.scalar(scope.select(roles.c.role).where(roles.c.person_id == card.answered_by))
    if credits.read_local_date(scope).isoformat() != card.subject["day"]:
        raise ConflictError("that day is over, and its limit with it", state=CardState.EXPIRED)
    if card.subject["limit"] != "balance":
        if role not in ("owner", "member"):
            raise RefusedError("only an owner or a member of the workspace may raise what a skill spends")
        return
    if role != "owner":
        raise RefusedError("only an owner of the workspace adds credit; answer again when that is done")
    credits.grant_credit(scope, Decimal(str(card.subject["more"])), f"{card.id}:raise")


def _raising_cards(scope: Scope, stem: str, day: date) -> Iterator[Card]:
    """Yield the cards of that day on which a person raised a limit, oldest first."""
    n = 0
    while True:
        # Cards are numbered, and the next one is opened only after a yes.
        found = scope.select(card_rows.c.id).where(
            card_rows.c.cause == f"{_cause(stem, day)}:{n}", card_rows.c.answer_option == "raise"
        )
        card_id = scope.scalar(found)
        if card_id is None:
            return
        yield cards.get_card(scope, card_id)
        n += 1


def _cause(stem: str, day: date) -> str:
    return f"skill-limit:{stem}:{day.isoformat()}"


def _end_of(day: date, scope: Scope) -> datetime:
    return datetime.combine(day + timedelta(days=1), time(), scope.read_time_zone()).astimezone(scope.now.tzinfo)

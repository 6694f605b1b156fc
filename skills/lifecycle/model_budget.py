"""Budget for the model: reserved in the workspace's ledger before a question, settled or released after it."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from core.database import Scope
from core.errors import RefusedError
from runtime.limits import credits
from skills.lifecycle import budget_card
from skills.lifecycle.budget_card import BudgetLimit, BudgetReached

CURRENCY = "USD"
"""What models are priced in."""


def reserve(scope: Scope, *, key: str, stem: str, amount: Decimal, budget: Decimal) -> BudgetReached | None:
    """Hold `amount` for a question, once per `key`; the limit that it reaches, of which a person is asked on a card.

    The first of these that it would exceed: the day's `budget` of the skill, or what a person raised it to for the
    day; the workspace's free allowance of the day, unless a person raised the skill's; the balance. What was held and
    never settled counts until the watch gives it back.
    """
    # Money is set aside one after the other.
    now = credits.lock_budget(scope)
    if now.currency != CURRENCY:
        raise RefusedError(f"the model costs {CURRENCY} and the budget is in {now.currency}; nothing converts them")
    day = credits.read_local_date(scope)
    spent, allowed = spent_on(scope, stem, day), budget_card.read_allowance(scope, stem, day, budget)
    limit: BudgetLimit | None = None
    if spent + amount > allowed.most:
        limit = "skill"
    elif allowed.card_id is None and amount > now.free_per_day - now.spent_today:
        limit = "day"
    elif amount > now.available:
        limit = "balance"
    if limit is None:
        credits.reserve_credit(scope, key, amount, task_id=None, card_id=allowed.card_id, skill_id=stem)
        return None
    return budget_card.open_budget_card(
        scope,
        stem=stem,
        day=day,
        limit=limit,
        spent=spent,
        needs=amount,
        most=allowed.most,
        budget=budget,
        currency=now.currency,
    )


def settle(scope: Scope, key: str, amount: Decimal) -> bool:
    """It did cost this much; False when it was settled before."""
    return credits.settle_reservation(scope, key, amount)


def release(scope: Scope, key: str) -> bool:
    """It cost nothing; False when it was settled or released before."""
    return credits.release_reservation(scope, key)


def spent_on(scope: Scope, stem: str, day: date) -> Decimal:
    """What was spent or is held on a day."""
    return credits.read_skill_spending(scope, stem, day)

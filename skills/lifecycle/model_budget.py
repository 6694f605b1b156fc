"""Budget for model calls: reserved in the workspace's ledger before a call, settled or released after it."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from core.database import Scope
from core.errors import RefusedError
from runtime.limits import credits
from skills.lifecycle import budget_card
from skills.lifecycle.budget_card import BudgetLimit, BudgetReached

CURRENCY = "USD"
"""The currency of model prices."""


def reserve(scope: Scope, *, key: str, stem: str, amount: Decimal, budget: Decimal) -> BudgetReached | None:
    """Reserve `amount` for a model call, once per `key`; return the limit if one is reached, after opening its card.

    Limits are tried in this order: the skill's `budget` of the day, or what a person raised it to; the workspace's free
    allowance of the day, unless a person raised the skill's budget; the balance. A reservation that is never settled
    counts until the watch releases it.
    """
    # The lock makes reservations wait for each other.
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
    """Settle a reservation at its real cost; return False if it was settled before."""
    return credits.settle_reservation(scope, key, amount)


def release(scope: Scope, key: str) -> bool:
    """Release a reservation that cost nothing; return False if it was settled or released before."""
    return credits.release_reservation(scope, key)


def spent_on(scope: Scope, stem: str, day: date) -> Decimal:
    """Return what a skill has spent and reserved on a day."""
    return credits.read_skill_spending(scope, stem, day)

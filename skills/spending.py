"""What skills spend on the model: reserved before a question, settled after it, in days of the workspace's zone."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import sqlalchemy as sa

from core.database import Scope
from core.errors import RefusedError
from runtime import credits
from skills.tables import skill_spending


class BudgetReachedError(RefusedError):
    """The day's budget does not cover the question."""


def reserve(scope: Scope, *, key: str, stem: str, run_id: str, amount: Decimal, budget: Decimal) -> None:
    """Set `amount` aside, once per `key`; raises BudgetReachedError when the day's budget does not cover it.

    What was reserved and never settled goes on counting: nobody knows what became of it.
    """
    # Money is set aside one after the other.
    credits.lock(scope)
    day = credits.today(scope)
    spent = spent_on(scope, stem, day)
    if spent + amount > budget:
        raise BudgetReachedError(
            f"the model's budget of this skill is {budget} USD a day; {spent} of it is used, and this needs up to"
            f" {amount:.6f}: ask for fewer tokens, ask less often, or raise model_budget_per_day"
        )
    scope.insert_new(
        skill_spending,
        key=key,
        skill_id=stem,
        run_id=run_id,
        day=day.isoformat(),
        state="reserved",
        amount=amount,
        at=scope.now,
    )


def settle(scope: Scope, key: str, amount: Decimal) -> bool:
    """It did cost this much; False when it was settled or released before."""
    return _close(scope, key, "settled", amount)


def release(scope: Scope, key: str) -> bool:
    """It cost nothing; False when it was settled or released before."""
    return _close(scope, key, "released", Decimal(0))


def spent_on(scope: Scope, stem: str, day: date) -> Decimal:
    """What was spent or is set aside on a day."""
    query = scope.select(sa.func.sum(skill_spending.c.amount)).where(
        skill_spending.c.skill_id == stem,
        skill_spending.c.day == day.isoformat(),
        skill_spending.c.state != "released",
    )
    return scope.scalar(query) or Decimal(0)


def _close(scope: Scope, key: str, state: str, amount: Decimal) -> bool:
    waiting = (skill_spending.c.key == key) & (skill_spending.c.state == "reserved")
    values = {"state": state, "amount": amount}
    return scope.change(scope.update(skill_spending).where(waiting).values(**values)) == 1

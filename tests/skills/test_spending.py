"""What skills spend on the model: set aside, settled, given back, and counted by the workspace's day."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
import sqlalchemy as sa

from core.database import Scope
from core.tables import workspaces
from runtime import credits
from skills import spending
from skills.spending import BudgetReachedError
from tests.support.databases import Store


def reserve(scope: Scope, key: str, amount: str, stem: str = "watch", budget: str = "1") -> None:
    spending.reserve(scope, key=key, stem=stem, run_id="run", amount=Decimal(amount), budget=Decimal(budget))


def spent(scope: Scope, stem: str = "watch") -> Decimal:
    return spending.spent_on(scope, stem, credits.today(scope))


def test_what_is_set_aside_counts_until_it_is_settled_or_given_back(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        for n, amount in enumerate(("0.3", "0.3", "0.3")):
            reserve(scope, f"k{n}", amount)
        with pytest.raises(BudgetReachedError, match=r"0\.9 of it is used, and this needs up to 0\.200000"):
            reserve(scope, "k3", "0.2")
        spending.settle(scope, "k0", Decimal("0.1"))
        spending.release(scope, "k1")

        assert spent(scope) == Decimal("0.4")
        reserve(scope, "k3", "0.6")
        assert spent(scope) == Decimal(1)


def test_each_is_settled_once(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        reserve(scope, "k", "0.3")

        assert spending.settle(scope, "k", Decimal("0.2")) is True
        assert spending.settle(scope, "k", Decimal("0.9")) is False
        assert spending.release(scope, "k") is False
        assert spent(scope) == Decimal("0.2")


def test_a_process_that_died_in_between_leaves_it_spent(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        reserve(scope, "lost", "0.9")

    with store.database.transaction(store.workspace_id) as scope, pytest.raises(BudgetReachedError):
        reserve(scope, "next", "0.2")


def test_budgets_are_of_one_skill_and_one_day_of_the_workspace(store: Store) -> None:
    with store.database.unscoped() as connection:
        connection.execute(sa.update(workspaces).values(timezone="Asia/Tokyo"))
    with store.database.transaction(store.workspace_id) as scope:
        reserve(scope, "a", "1")
        reserve(scope, "b", "1", stem="other")
        with pytest.raises(BudgetReachedError):
            reserve(scope, "c", "0.1")
    # From 18:00 in Tokyo to midnight there: in UTC it is the same day.
    store.clock.advance(timedelta(hours=6))
    with store.database.transaction(store.workspace_id) as scope:
        reserve(scope, "c", "1")
        assert spent(scope) == Decimal(1)

"""Money: held, settled or released, once, whoever asks at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from threading import Barrier

import pytest
import sqlalchemy as sa

from core.errors import InvalidError, RefusedError
from core.tables import workspaces
from runtime.limits import credits
from runtime.limits.credits import Budget
from runtime.tables import entries, reservations
from tests.support.databases import Store


def budget(store: Store) -> Budget:
    with store.database.reading(store.workspace_id) as scope:
        return credits.read_budget(scope)


def reserve(store: Store, order_id: str, amount: str, card_id: str | None = None) -> bool:
    with store.database.transaction(store.workspace_id) as scope:
        return credits.reserve_credit(scope, order_id, Decimal(amount), task_id=None, card_id=card_id)


def settle(store: Store, order_id: str, charge: str) -> bool:
    with store.database.transaction(store.workspace_id) as scope:
        return credits.settle_reservation(scope, order_id, Decimal(charge))


def release(store: Store, order_id: str) -> bool:
    with store.database.transaction(store.workspace_id) as scope:
        return credits.release_reservation(scope, order_id)


def test_a_reservation_is_held_then_settled_once(store: Store) -> None:
    assert reserve(store, "order_1", "0.25")
    assert not reserve(store, "order_1", "0.25")
    assert (budget(store).available, budget(store).spent_today) == (Decimal("99.75"), Decimal("0.25"))

    assert settle(store, "order_1", "0.20")
    assert not settle(store, "order_1", "0.20")
    assert not release(store, "order_1")

    after = budget(store)
    assert (after.balance, after.reserved, after.spent_today) == (Decimal("99.80"), Decimal(0), Decimal("0.20"))


def test_the_sums_are_those_of_the_rows(store: Store) -> None:
    reserve(store, "order_1", "0.25")
    reserve(store, "order_2", "0.5")
    reserve(store, "order_3", "1")
    settle(store, "order_1", "0.125")
    release(store, "order_2")
    settle(store, "order_2", "0.75")
    with store.database.transaction(store.workspace_id) as scope:
        assert credits.grant_credit(scope, Decimal(7), "gift")
        assert not credits.grant_credit(scope, Decimal(7), "gift")
    with store.database.reading(store.workspace_id) as scope:
        booked = scope.rows(scope.select(entries))
        held = scope.rows(scope.select(reservations).where(reservations.c.state == "held"))
    signs = {"grant": 1, "settle": -1}
    now = budget(store)
    assert now.balance == sum(row.amount * signs.get(row.kind, 0) for row in booked) == Decimal("106.125")
    assert now.reserved == sum(row.amount for row in held) == Decimal(1)


def test_a_released_reservation_costs_nothing(store: Store) -> None:
    reserve(store, "order_1", "0.25")
    assert release(store, "order_1")
    assert not release(store, "order_1")
    after = budget(store)
    assert (after.balance, after.reserved, after.spent_today) == (Decimal(100), Decimal(0), Decimal(0))


@pytest.mark.boundary(38)
def test_a_charge_above_the_quote_is_recorded_and_counts(store: Store) -> None:
    reserve(store, "order_1", "0.25")
    assert settle(store, "order_1", "0.90")
    after = budget(store)
    assert (after.balance, after.spent_today) == (Decimal("99.10"), Decimal("0.90"))


def test_a_result_that_comes_after_the_release_is_charged_once(store: Store) -> None:
    reserve(store, "order_1", "0.25")
    release(store, "order_1")
    assert settle(store, "order_1", "0.25")
    assert not settle(store, "order_1", "0.25")
    assert budget(store).balance == Decimal("99.75")


def test_more_than_the_balance_is_never_reserved(store: Store) -> None:
    reserve(store, "order_1", "99.99")
    with pytest.raises(RefusedError, match=r"needs 0\.02 USD but only 0\.01"):
        reserve(store, "order_2", "0.02")
    assert reserve(store, "order_3", "0.01")


@pytest.mark.parametrize("amount", ["-0.01", "-5"])
def test_nothing_negative_is_reserved_or_charged(store: Store, amount: str) -> None:
    with pytest.raises(InvalidError):
        reserve(store, "order_1", amount)
    reserve(store, "order_2", "1")
    with pytest.raises(InvalidError):
        settle(store, "order_2", amount)


def test_what_a_card_authorised_uses_no_free_allowance(store: Store) -> None:
    reserve(store, "order_1", "5", card_id="card_1")
    assert budget(store).spent_today == Decimal(0)
    assert budget(store).available == Decimal(95)


def test_a_grant_counts_once_for_its_cause(store: Store) -> None:
    for _ in range(2):
        with store.database.transaction(store.workspace_id) as scope:
            credits.grant_credit(scope, Decimal("10.5"), "top-up-1")
    assert budget(store).balance == Decimal("110.5")


def test_entries_are_only_added(store: Store) -> None:
    reserve(store, "order_1", "0.25")
    settle(store, "order_1", "0.30")
    reserve(store, "order_2", "0.10")
    release(store, "order_2")
    with store.database.reading(store.workspace_id) as scope:
        rows = scope.rows(scope.select(entries.c.kind, entries.c.amount).order_by(entries.c.kind, entries.c.amount))
    assert [(row.kind, row.amount) for row in rows] == [
        ("grant", Decimal(100)),
        ("release", Decimal("0.10")),
        ("reserve", Decimal("0.10")),
        ("reserve", Decimal("0.25")),
        ("settle", Decimal("0.30")),
    ]


@pytest.mark.boundary(36)
@pytest.mark.case("B43")
def test_the_day_begins_at_local_midnight(store: Store) -> None:
    # 09:00 UTC is 22:00 in Auckland (UTC+13 then), so midnight there comes two hours later.
    with store.database.unscoped() as connection:
        connection.execute(sa.update(workspaces).values(timezone="Pacific/Auckland"))
    reserve(store, "order_1", "1.90")
    assert budget(store).spent_today == Decimal("1.90")

    store.clock.advance(timedelta(hours=1, minutes=59))
    assert budget(store).spent_today == Decimal("1.90")

    store.clock.advance(timedelta(minutes=1))
    assert store.clock.now() == datetime(2026, 3, 2, 11, tzinfo=UTC)
    assert budget(store).spent_today == Decimal(0)


@pytest.mark.boundary(37)
def test_two_reservations_of_the_last_unit_together_get_it_once(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        credits.grant_credit(scope, Decimal("-95"), "spent elsewhere")
    start = Barrier(8)

    def take(n: int) -> bool:
        start.wait()
        try:
            return reserve(store, f"order_{n}", "0.90")
        except RefusedError:
            return False

    with ThreadPoolExecutor(8) as pool:
        won = sum(pool.map(take, range(8)))

    assert won == 5
    assert budget(store).available == Decimal("0.50")


def test_settling_at_the_same_time_charges_once(store: Store) -> None:
    reserve(store, "order_1", "0.25")
    start = Barrier(6)

    def pay(_n: int) -> bool:
        start.wait()
        return settle(store, "order_1", "0.25")

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(pay, range(6))) == 1
    assert budget(store).balance == Decimal("99.75")


def test_amounts_stay_exact(store: Store) -> None:
    for n in range(30):
        reserve(store, f"order_{n}", "0.000001")
        settle(store, f"order_{n}", "0.000001")
    assert budget(store).balance == Decimal("99.99997")

"""What skills spend on the model: held in the ledger of all, and raised by a person where a limit is reached."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal

import pytest
import sqlalchemy as sa

from core.database import Scope
from core.errors import ConflictError, RefusedError
from core.tables import roles, workspaces
from generation.execution import recovery as order_recovery
from runtime.cards import cards
from runtime.cards.answers import CardAnswers, answer_card
from runtime.cards.cards import Card
from runtime.limits import credits
from runtime.tables import budgets, entries
from skills.book import skill
from skills.card_answers import SKILL_CARD_ANSWERS
from skills.lifecycle import model_budget, run_end
from skills.lifecycle.budget_card import RETRY_AFTER, BudgetReached
from tests.skills.saved_versions import record_run, save_live_version
from tests.support.databases import Store

ANSWERS = CardAnswers(SKILL_CARD_ANSWERS)


def reserve(scope: Scope, key: str, amount: str, stem: str = "watch", budget: str = "1") -> BudgetReached | None:
    return model_budget.reserve(scope, key=key, stem=stem, amount=Decimal(amount), budget=Decimal(budget))


def spent(scope: Scope, stem: str = "watch") -> Decimal:
    return model_budget.spent_on(scope, stem, credits.read_local_date(scope))


def open_limits(scope: Scope) -> list[Card]:
    return [card for card in cards.list_open_cards(scope) if card.kind == "limit"]


def answer(store: Store, option: str, speaks_as: str = "person") -> Card:
    """Answer the one card that is open."""
    with store.database.transaction(store.workspace_id) as scope:
        (card,) = open_limits(scope)
        return answer_card(scope, card.id, option, None, store.person_id, ANSWERS, speaks_as=speaks_as)


def asked(store: Store, key: str, amount: str, stem: str = "watch", budget: str = "1") -> BudgetReached | None:
    with store.database.transaction(store.workspace_id) as scope:
        return reserve(scope, key, amount, stem, budget)


def test_what_is_held_counts_until_it_is_settled_or_given_back(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        for n in range(3):
            assert reserve(scope, f"k{n}", "0.3") is None
        reached = reserve(scope, "k3", "0.2")
        assert reached is not None
        assert "watch has spent 0.90 USD on the model today and asks for up to 0.20 USD more" in reached.why
        model_budget.settle(scope, "k0", Decimal("0.1"))
        model_budget.release(scope, "k1")

        assert spent(scope) == Decimal("0.4")
        assert reserve(scope, "k3", "0.6") is None
        assert spent(scope) == Decimal(1)


def test_each_is_settled_once_and_the_ledger_only_grows(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        reserve(scope, "k", "0.3")

        assert model_budget.settle(scope, "k", Decimal("0.2")) is True
        assert model_budget.settle(scope, "k", Decimal("0.9")) is False
        assert model_budget.release(scope, "k") is False
        assert spent(scope) == Decimal("0.2")

        rows = scope.rows(scope.select(entries).where(entries.c.order_id == "k").order_by(entries.c.kind))
        assert [(row.kind, row.amount) for row in rows] == [("reserve", Decimal("0.3")), ("settle", Decimal("0.2"))]
        now = credits.read_budget(scope)
        assert (now.balance, now.reserved, now.spent_today) == (Decimal("99.8"), Decimal(0), Decimal("0.2"))


def test_what_a_process_that_died_held_is_given_back_when_nobody_can_answer_any_more(store: Store) -> None:
    asked(store, "lost", "0.9")
    for pause, held in ((timedelta(minutes=10), "0.9"), (timedelta(minutes=10), "0")):
        store.clock.advance(pause)
        order_recovery.recover_orders(store.database, store.workspace_id, 1, timedelta(seconds=30))
        with store.database.reading(store.workspace_id) as scope:
            assert (spent(scope), credits.read_budget(scope).reserved) == (Decimal(held), Decimal(held))

    # What the model did answer after all is charged.
    with store.database.transaction(store.workspace_id) as scope:
        assert model_budget.settle(scope, "lost", Decimal("0.1"))
        assert spent(scope) == Decimal("0.1")


def test_budgets_are_of_one_skill_and_one_day_of_the_workspace(store: Store) -> None:
    with store.database.unscoped() as connection:
        connection.execute(sa.update(workspaces).values(timezone="Asia/Tokyo"))
    assert asked(store, "a", "1") is None
    assert asked(store, "b", "1", stem="other") is None
    assert asked(store, "c", "0.1") is not None
    # From 18:00 in Tokyo to midnight there: in UTC it is the same day.
    store.clock.advance(timedelta(hours=6))
    assert asked(store, "c", "1") is None
    with store.database.reading(store.workspace_id) as scope:
        assert spent(scope) == Decimal(1)


def test_a_reached_limit_asks_once_and_a_yes_lets_the_skill_go_on(store: Store) -> None:
    # Given a skill that has used its day up, and asks and asks
    asked(store, "a", "0.9")
    told = [asked(store, f"b{n}", "0.2") for n in range(3)]

    # Then it waits, and one card says what is stored
    assert [one is not None and one.wait for one in told] == [RETRY_AFTER] * 3
    with store.database.reading(store.workspace_id) as scope:
        (card,) = open_limits(scope)
    assert (card.task_id, [option["id"] for option in card.options]) == (None, ["raise", "stop"])
    assert card.subject["raise_to"] == "2"
    assert (
        "watch has spent 0.90 USD on the model today and asks for up to 0.20 USD more; it may spend 1.00 USD a day"
        in card.body
    )

    # When a program says yes, nothing changes
    with pytest.raises(RefusedError, match="person"):
        answer(store, "raise", "program")
    assert asked(store, "c", "0.2") is not None

    # When a person does, it may go on as far as the card said, and no further without another one
    answer(store, "raise")
    assert asked(store, "d", "1.1") is None
    assert asked(store, "e", "0.1") is not None
    with store.database.reading(store.workspace_id) as scope:
        (second,) = open_limits(scope)
        assert second.id != card.id
        assert spent(scope) == Decimal(2)
        reservation = credits.find_reservation(scope, "d")
        assert reservation is not None
        assert (reservation.skill_id, reservation.card_id) == ("watch", card.id)
        # What a card authorised uses none of the free allowance.
        assert credits.read_budget(scope).spent_today == Decimal("0.9")


def test_a_limit_that_is_met_ends_no_version_and_the_same_failures_on_another_day_do(store: Store) -> None:
    """Given a skill whose runs fail since its limit is a question that nobody answers, and then since they said no."""
    with store.database.transaction(store.workspace_id) as scope:
        version = save_live_version(scope, "watch", "1")

    def fails(name: str) -> str:
        with store.database.transaction(store.workspace_id) as scope:
            record_run(scope, version, name)
            assert run_end.end_run(scope, name, "failed", most=2, error={"name": "LimitReached"}, attempts=1)
        with store.database.reading(store.workspace_id) as scope:
            return skill.get_skill(scope, "watch").status

    asked(store, "a", "1")
    asked(store, "b", "0.2")
    assert [fails(f"open-{n}") for n in range(3)] == ["active"] * 3
    answer(store, "stop")
    assert [fails(f"no-{n}") for n in range(3)] == ["active"] * 3

    # On the next day nothing is met, whatever the error says, and those of the day before are not among these
    store.clock.advance(timedelta(days=1))
    assert [fails(f"next-{n}") for n in range(2)] == ["active", "quarantined"]


def test_a_no_holds_for_the_day_and_a_day_is_over_at_midnight(store: Store) -> None:
    asked(store, "a", "1")
    asked(store, "b", "0.2")
    answer(store, "stop")

    reached = asked(store, "c", "0.2")
    assert reached is not None
    assert (reached.wait, "left it at that" in reached.why) == (None, True)
    with store.database.reading(store.workspace_id) as scope:
        assert open_limits(scope) == []

    store.clock.advance(timedelta(hours=14, minutes=59))
    before = asked(store, "d", "1")
    assert (before is not None, before and before.wait) == (True, None)
    store.clock.advance(timedelta(minutes=1))
    assert asked(store, "d", "1") is None
    assert asked(store, "e", "0.5") is not None
    # A card of yesterday raises nothing.
    store.clock.advance(timedelta(days=1))
    with pytest.raises(ConflictError):
        answer(store, "raise")


def test_skills_and_orders_share_what_the_workspace_may_spend_in_a_day(store: Store) -> None:
    # Given a day's allowance of 2 of which an order without a card holds 1.5
    with store.database.transaction(store.workspace_id) as scope:
        credits.reserve_credit(scope, "order_1", Decimal("1.5"), task_id=None)

    # When skills ask for more than is left
    assert asked(store, "a", "0.4") is None
    assert asked(store, "b", "0.4", stem="other") is not None

    # Then the card of the one that met the limit speaks of it, and lets that one go on
    with store.database.reading(store.workspace_id) as scope:
        (card,) = open_limits(scope)
    assert (card.subject["skill_id"], card.subject["limit"]) == ("other", "day")
    answer(store, "raise")
    assert asked(store, "b", "0.4", stem="other") is None
    assert asked(store, "c", "0.4") is not None


def test_no_skill_spends_credit_that_is_not_there(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        credits.grant_credit(scope, Decimal("-99.9"), "spent elsewhere")
    assert asked(store, "a", "0.2") is not None
    with store.database.reading(store.workspace_id) as scope:
        (card,) = open_limits(scope)
    assert card.subject["limit"] == "balance"

    # Only an owner adds credit, and the card stays open for one
    with store.database.unscoped() as connection:
        connection.execute(sa.update(roles).values(role="member"))
    with pytest.raises(RefusedError, match="owner"):
        answer(store, "raise")
    with store.database.unscoped() as connection:
        connection.execute(sa.update(roles).values(role="owner"))
    answer(store, "raise")
    assert asked(store, "a", "0.2") is None
    with store.database.reading(store.workspace_id) as scope:
        now = credits.read_budget(scope)
    assert (now.balance, now.reserved) == (Decimal("1.1"), Decimal("0.2"))


def test_a_budget_in_another_currency_pays_for_no_model(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        scope.change(scope.update(budgets).values(currency="EUR"))
    with pytest.raises(RefusedError, match="nothing converts"):
        asked(store, "a", "0.1")


def test_many_at_once_exceed_no_limit(store: Store) -> None:
    # Given three skills, each with a budget of 1, and a workspace with 2 a day
    def spend(n: int) -> bool:
        return asked(store, f"k{n}", "0.15", stem=f"skill{n % 3}") is None

    with ThreadPoolExecutor(6) as pool:
        held = list(pool.map(spend, range(24)))

    # Then what is held is what fits, and not a question more
    with store.database.reading(store.workspace_id) as scope:
        each = [spent(scope, f"skill{n}") for n in range(3)]
        assert all(amount <= Decimal(1) for amount in each)
        assert sum(each) == held.count(True) * Decimal("0.15") == credits.read_budget(scope).reserved == Decimal("1.95")
        assert len(open_limits(scope)) <= 3

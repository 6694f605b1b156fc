"""A provider that bills something else than was agreed: recorded, bounded, contested, and the next is asked about."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from generation.orders.order import Order
from generation.orders.states import OrderState
from generation.providers.port import JobNews, JobState
from generation.providers.scripted import ScriptedProvider
from generation.tools import outcome_input
from runtime import notices
from runtime.cards.cards import Card
from runtime.commands import control
from runtime.limits import credits
from runtime.tasks.tasks import Plan, Task
from runtime.turns.lease import TurnFence
from tests.generation.world import FILM_8, PICTURE, GenerationWorld, StudioOfTests, studio_provider, world_of
from tests.support.databases import Store

QUOTE = Decimal("0.04")


def picture(world: GenerationWorld, task: Task, fence: TurnFence | None = None) -> Order:
    return world.order(task, fence or world.turn(task), tool="generate_image")


def told(world: GenerationWorld) -> list[str]:
    with world.scope() as scope:
        return [notice.text for notice in notices.list_newest_notices(scope)]


def balance(world: GenerationWorld) -> Decimal:
    with world.scope() as scope:
        return credits.read_budget(scope).balance


def next_act(world: GenerationWorld, task: Task, fence: TurnFence) -> Card | None:
    """What a further small order of the task meets: a card, or nothing."""
    world.decide(fence, 2, PICTURE)
    world.call(task, fence, 2, 0)
    return next(iter(world.cards(task)), None)


@pytest.mark.boundary(38)
def test_a_bill_above_the_most_is_recorded_in_full_charged_to_the_bound_and_stops_the_next(
    world: GenerationWorld, the_studio: StudioOfTests
) -> None:
    the_studio.fault("overcharge:50")
    task = world.task()
    fence = world.turn(task)
    ended = world.follow(picture(world, task, fence))
    world.settle(ended)

    assert [row["amount"] for row in the_studio.bill() if row["idempotency_key"] == ended.key] == ["2.00"]
    assert (ended.state, ended.quote, ended.most) == (OrderState.SUCCEEDED, QUOTE, Decimal("0.08"))
    assert (ended.claim, ended.charge, ended.contested) == ("2.00 USD", Decimal("0.08"), "above_most")
    assert balance(world) == Decimal("99.92")
    assert world.money("settle") == [Decimal("0.08")]
    (words,) = told(world)
    assert words == (
        "'Poster' was quoted at 0.04 USD. studio billed 2.00 USD, and 0.08 USD is charged, the most that was agreed. "
        "The rest is contested with studio: nothing more is paid for it here. The task's next paid act asks you first."
    )
    with world.scope() as scope:
        assert outcome_input(scope, ended.id)["contested"] == words
    card = next_act(world, task, fence)
    assert card is not None
    assert card.body.startswith("the last order cost 0.08 USD where 0.04 USD was quoted, and 2.00 USD was billed")


@pytest.mark.boundary(38)
def test_a_bill_up_to_the_most_is_charged_as_it_is_and_stops_the_next(
    world: GenerationWorld, the_studio: StudioOfTests
) -> None:
    the_studio.fault("overcharge:2")
    task = world.task()
    fence = world.turn(task)
    ended = world.follow(picture(world, task, fence))
    assert (ended.claim, ended.charge, ended.contested) == ("0.08 USD", Decimal("0.08"), None)
    assert told(world) == []
    assert next_act(world, task, fence) is not None


@pytest.mark.boundary(38)
@pytest.mark.parametrize(
    ("cost", "contest"),
    [
        ({"amount": "-5.00", "currency": "USD"}, "unreadable"),
        ({"amount": float("nan"), "currency": "USD"}, "unreadable"),
        ({"amount": "Infinity", "currency": "USD"}, "unreadable"),
        ({"amount": "9" * 41, "currency": "USD"}, "unreadable"),
        ("0.04 USD", "unreadable"),
        ({"amount": "0.04", "currency": "EUR"}, "other_currency"),
    ],
)
def test_a_bill_that_cannot_be_read_costs_the_quote_and_is_contested(
    world: GenerationWorld, the_studio: StudioOfTests, cost: Any, contest: str
) -> None:
    """The work comes home all the same, whatever stands beside it."""
    the_studio.fault(f"odd_cost:{json.dumps(cost)}")
    task = world.task()
    fence = world.turn(task)
    ended = world.follow(picture(world, task, fence))
    assert (ended.state, len(ended.object_ids)) == (OrderState.SUCCEEDED, 1)
    assert (ended.charge, ended.contested) == (QUOTE, contest)
    assert balance(world) == Decimal("99.96")
    assert ended.claim is not None
    assert len(told(world)) == 1
    assert next_act(world, task, fence) is not None


@pytest.mark.boundary(38)
@pytest.mark.parametrize("amount", ["9" * 20, "9" * 40, f"{'9' * 40}.{'9' * 40}"])
def test_more_digits_than_money_holds_are_kept_and_charged_to_the_bound(
    world: GenerationWorld, the_studio: StudioOfTests, amount: str
) -> None:
    the_studio.fault("odd_cost:" + json.dumps({"amount": amount, "currency": "USD"}))
    ended = world.follow(picture(world, world.task()))
    assert (ended.claim, ended.charge) == (f"{amount} USD", Decimal("0.08"))
    assert balance(world) == Decimal("99.92")


@pytest.mark.boundary(38)
@pytest.mark.parametrize("cost", [{"amount": "-1", "currency": "USD"}, {"amount": "3.00", "currency": "EUR"}])
def test_a_failed_job_with_an_unreadable_bill_costs_nothing_and_is_contested(world: GenerationWorld, cost: Any) -> None:
    task = world.task()
    fence = world.turn(task)
    order = picture(world, task, fence)
    provider = ScriptedProvider("studio")
    bad = JobNews("job_1", JobState.FAILED, cost=Decimal(cost["amount"]), currency=cost["currency"])
    provider.foresee("submit", JobNews("job_1", JobState.QUEUED))
    provider.foresee("status", bad)
    world.dependencies.providers["studio"] = provider
    ended = world.follow(order)
    assert (ended.state, ended.charge) == (OrderState.FAILED, None)
    assert world.reservation_states() == ["released"]
    assert balance(world) == Decimal(100)
    assert len(told(world)) == 1
    assert "0.00 USD is charged" in told(world)[0]
    card = next_act(world, task, fence)
    assert card is not None


@pytest.mark.boundary(38)
def test_a_failed_job_that_bills_much_is_charged_to_the_bound(world: GenerationWorld) -> None:
    provider = ScriptedProvider("studio")
    provider.foresee("submit", JobNews("job_1", JobState.QUEUED))
    provider.foresee("status", JobNews("job_1", JobState.FAILED, cost=Decimal(70), currency="USD"))
    order = picture(world, world.task())
    world.dependencies.providers["studio"] = provider
    ended = world.follow(order)
    assert (ended.state, ended.charge, ended.claim) == (OrderState.FAILED, Decimal("0.08"), "70 USD")
    assert balance(world) == Decimal("99.92")


@pytest.mark.boundary(38)
def test_an_order_without_a_card_never_costs_more_than_the_free_amount(
    world: GenerationWorld, the_studio: StudioOfTests
) -> None:
    """Within the free allowance the bound is the quote times the factor, and at most the allowance of one act."""
    the_studio.fault("overcharge:50")
    world.limits(free_per_operation=Decimal("0.05"))
    ended = world.follow(picture(world, world.task()))
    assert (ended.most, ended.charge) == (Decimal("0.05"), Decimal("0.05"))


@pytest.mark.boundary(38)
def test_an_order_under_a_plan_never_costs_more_than_the_plan_has_left(
    world: GenerationWorld, the_studio: StudioOfTests
) -> None:
    the_studio.fault("overcharge:50")
    task = world.task()
    with world.scope() as scope:
        control.set_task_plan(scope, task.id, Plan(Decimal("1.00")))
        credits.reserve_credit(scope, "order_before", Decimal("0.95"), task_id=task.id)
    ended = world.follow(picture(world, task))
    assert (ended.most, ended.charge) == (Decimal("0.05"), Decimal("0.05"))


@pytest.mark.boundary(38)
def test_an_order_that_a_card_approved_is_bounded_by_what_the_card_shows(
    world: GenerationWorld, the_studio: StudioOfTests
) -> None:
    the_studio.fault("overcharge:50")
    task = world.task()
    fence = world.turn(task)
    world.decide(fence, 1, FILM_8)
    world.call(task, fence, 1, 0)
    (card,) = world.cards(task)
    assert card.quote is not None
    assert [(line["amount"], line["most"]) for line in card.quote["lines"]] == [("0.40", "0.80")]
    world.answer(card, "approve")
    (order,) = world.orders()
    assert (order.quote, order.most) == (Decimal("0.40"), Decimal("0.80"))


@pytest.mark.boundary(38)
def test_a_later_setting_does_not_move_the_agreed_bound(
    store: Store, tmp_path: Path, the_studio: StudioOfTests
) -> None:
    the_studio.fault("overcharge:50")
    before = world_of(store, tmp_path / "home", studio_provider(the_studio), overrun_factor=Decimal(1))
    task = before.task()
    fence = before.turn(task)
    order = picture(before, task, fence)
    after = world_of(store, tmp_path / "home", studio_provider(the_studio), overrun_factor=Decimal(1000))
    ended = after.follow(order)
    assert (ended.most, ended.charge) == (QUOTE, QUOTE)
    assert next_act(after, task, fence) is not None

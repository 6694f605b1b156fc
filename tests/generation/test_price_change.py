"""A price that rises between the yes and the sending: nothing is sent at it, and a person is asked afresh."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from core.errors import ConflictError, UnavailableError
from generation.approval.price_change import CurrentPrice, ask_at_new_price
from generation.orders.lease import acquire_order_lease
from generation.orders.order import Order
from generation.orders.states import OrderState
from generation.providers.port import JobNews, JobState, Offer
from generation.providers.scripted import PICTURES, SOUNDS, ScriptedProvider
from generation.tools import orders_of_call
from runtime.cards import cards
from runtime.commands import control
from runtime.inbox import inbox
from runtime.statuses import CardState, TurnStatus, WaitKind
from runtime.tasks import tasks, waits
from runtime.tools import lookup
from tests.generation.world import GenerationWorld, world_of
from tests.support.databases import Store

SOUND_10 = ("generate_audio", {"prompt": "Waves", "title": "Waves", "seconds": 10})
JOB = JobNews("job_1", JobState.RUNNING)


def at(offer: Offer, amount: str, currency: str = "USD") -> Offer:
    return replace(offer, price=replace(offer.price, amount=Decimal(amount), currency=currency))


@pytest.fixture
def provider() -> ScriptedProvider:
    return ScriptedProvider()


@pytest.fixture
def scripted(store: Store, tmp_path: Path, provider: ScriptedProvider) -> GenerationWorld:
    return world_of(store, tmp_path / "home", provider)


def approved(world: GenerationWorld) -> Order:
    """A sound of ten seconds that a person has approved on a card, and whose task waits for it."""
    world.limits(free_per_operation=Decimal("0.05"))
    task = world.task()
    fence = world.turn(task)
    world.decide(fence, 1, SOUND_10)
    world.call(task, fence, 1, 0)
    (card,) = world.cards(task)
    with world.scope() as scope:
        fence.close(scope, TurnStatus.WAITING, "")
        waits.begin_wait(scope, task.id, fence.turn_id, WaitKind.CARD, [card.id])
    world.answer(card, "approve")
    (order,) = world.orders()
    return order


def pass_time(world: GenerationWorld) -> None:
    """A list of prices is kept for a minute."""
    world.store.clock.advance(timedelta(hours=2))


@pytest.mark.boundary(40)
def test_a_price_that_rose_after_the_approval_is_asked_about_and_nothing_is_sent(
    scripted: GenerationWorld, provider: ScriptedProvider
) -> None:
    order = approved(scripted)
    provider.offer(at(SOUNDS, "0.10"), PICTURES)
    pass_time(scripted)

    assert scripted.submit(order).state == OrderState.CANCELLED

    ended = scripted.get(order.id)
    assert provider.asked == []
    assert "0.10 USD was agreed, 1.00 USD is asked now" in (ended.error or "")
    assert scripted.reservation_states() == ["released"]
    (card,) = scripted.cards()
    assert (card.kind, card.quote and card.quote["amount"]) == ("quote", "1.00")
    assert "changed from 0.10 USD to 1.00 USD" in card.body
    task_id = str(order.task_id)
    with scripted.scope() as scope:
        wait = waits.find_wait(scope, task_id)
        assert wait is not None
        assert (wait.kind, wait.refs) == ("card", (card.id,))
        assert inbox.list_unread(scope, task_id) == []

    scripted.answer(card, "approve")

    _, again = scripted.orders()
    assert (again.quote, again.params, again.digest) == (Decimal("1.00"), order.params, order.digest)
    with scripted.scope() as scope:
        wait = waits.find_wait(scope, task_id)
        assert wait is not None
        assert (wait.kind, wait.refs) == ("generation", (again.id,))
    provider.foresee("submit", JOB)
    assert scripted.submit(again).state == OrderState.RUNNING
    assert scripted.submit(order).next == "end"
    assert [request.key for _, request in provider.asked] == [again.key]
    with pytest.raises(ConflictError):
        scripted.answer(card, "approve")


@pytest.mark.boundary(40)
def test_a_price_that_rises_again_is_asked_about_again(scripted: GenerationWorld, provider: ScriptedProvider) -> None:
    order = approved(scripted)
    for n, price in enumerate(("0.02", "0.03", "0.04"), 1):
        provider.offer(at(SOUNDS, price))
        pass_time(scripted)
        scripted.submit(order)
        (card,) = scripted.cards()
        scripted.answer(card, "approve")
        order = scripted.orders()[n]
    assert (order.quote, scripted.reservation_states()) == (Decimal("0.40"), ["released"] * 3 + ["held"])
    assert len(order.key) < 160
    assert provider.asked == []


@pytest.mark.boundary(40)
def test_a_refused_new_price_is_reported_and_nothing_is_ordered(
    scripted: GenerationWorld, provider: ScriptedProvider
) -> None:
    order = approved(scripted)
    provider.offer(at(SOUNDS, "0.10"))
    pass_time(scripted)
    scripted.submit(order)
    (card,) = scripted.cards()
    scripted.answer(card, "refuse")
    assert len(scripted.orders()) == 1
    with scripted.scope() as scope:
        assert [item.ref_id for item in inbox.list_unread(scope, str(order.task_id))] == [card.id]


@pytest.mark.boundary(36)
def test_a_risen_price_of_an_order_without_a_card_is_asked_about_too(
    scripted: GenerationWorld, provider: ScriptedProvider
) -> None:
    task = scripted.task()
    fence = scripted.turn(task)
    kept, moved = scripted.order(task, fence, 1, tool="generate_image"), scripted.order(task, fence, 2)
    with scripted.scope() as scope:
        fence.close(scope, TurnStatus.WAITING, "")
        waits.begin_wait(scope, task.id, fence.turn_id, WaitKind.GENERATION, [kept.id, moved.id])
    provider.offer(at(SOUNDS, "0.02"), PICTURES)
    pass_time(scripted)
    assert scripted.submit(moved).state == OrderState.CANCELLED
    assert len(scripted.cards(task)) == 1
    with scripted.scope() as scope:
        wait = waits.find_wait(scope, task.id)
        assert wait is not None
        assert (wait.kind, wait.refs) == ("generation", (kept.id,))


@pytest.mark.parametrize("amount", ["0.01", "0.005"])
def test_a_price_that_is_no_higher_is_sent(scripted: GenerationWorld, provider: ScriptedProvider, amount: str) -> None:
    order = approved(scripted)
    provider.offer(at(SOUNDS, amount))
    pass_time(scripted)
    provider.foresee("submit", JOB)
    assert scripted.submit(order).state == OrderState.RUNNING
    assert scripted.get(order.id).quote == Decimal("0.10")


@pytest.mark.boundary(40)
def test_another_currency_is_another_price(scripted: GenerationWorld, provider: ScriptedProvider) -> None:
    order = approved(scripted)
    provider.offer(at(SOUNDS, "0.01", "EUR"))
    pass_time(scripted)
    assert scripted.submit(order).state == OrderState.CANCELLED
    assert provider.asked == []


def test_what_is_offered_no_more_is_not_sent(scripted: GenerationWorld, provider: ScriptedProvider) -> None:
    order = approved(scripted)
    provider.offer(PICTURES)
    pass_time(scripted)
    assert scripted.submit(order).state == OrderState.FAILED
    assert "offers scripted-sound no more" in (scripted.get(order.id).error or "")
    assert (provider.asked, scripted.reservation_states()) == ([], ["released"])


class Silent(ScriptedProvider):
    """Names no prices for now."""

    def capabilities(self) -> Sequence[Offer]:
        raise UnavailableError("no list of prices")


def test_an_order_waits_for_its_own_providers_list_which_is_at_most_a_minute_old(
    scripted: GenerationWorld, provider: ScriptedProvider
) -> None:
    # Given a provider that went away after the yes, and another that names its prices
    order = approved(scripted)
    away = Silent(provider.name)
    scripted.dependencies.providers.update({provider.name: away, "other": ScriptedProvider("other", offers=[PICTURES])})
    scripted.store.clock.advance(timedelta(seconds=61))

    # When the order is to be sent, it waits
    assert scripted.submit(order).state == OrderState.ORDERED
    assert scripted.get(order.id).error == "no list of prices"
    assert scripted.reservation_states() == ["held"]

    # Then it is sent once its provider is back
    scripted.dependencies.providers[provider.name] = provider
    provider.foresee("submit", JOB)
    assert scripted.submit(order).state == OrderState.RUNNING


def test_a_call_whose_order_was_repriced_shows_the_card_and_the_order_in_its_place(
    scripted: GenerationWorld, provider: ScriptedProvider
) -> None:
    # Given an order whose price rose
    order = approved(scripted)
    provider.offer(at(SOUNDS, "0.10"))
    pass_time(scripted)
    scripted.submit(order)
    (card,) = scripted.cards()
    with scripted.scope() as scope:
        assert card.id in [one["id"] for one in lookup.list_effects_of_call(scope, order.call_id)]

    # When a person approves it at that price
    scripted.answer(card, "approve")

    # Then the call shows both orders
    again = scripted.orders()[1]
    with scripted.scope() as scope:
        assert [one["id"] for one in orders_of_call(scope, order.call_id)] == [order.id, again.id]


@pytest.mark.boundary(21)
def test_the_new_price_of_a_stopped_task_is_not_asked_about(
    scripted: GenerationWorld, provider: ScriptedProvider
) -> None:
    order = approved(scripted)
    provider.offer(at(SOUNDS, "0.10"))
    pass_time(scripted)
    with scripted.scope() as scope:
        control.stop_task(scope, str(order.task_id))
    assert scripted.submit(order).state == OrderState.CANCELLED
    assert scripted.cards() == []
    with scripted.scope() as scope:
        assert tasks.get_task(scope, str(order.task_id)).status == "stopped"
        assert cards.list_cards(scope, state=CardState.OPEN) == []


@pytest.mark.boundary(21)
def test_no_card_is_opened_on_a_task_that_was_stopped_after_the_price_was_read(
    scripted: GenerationWorld, provider: ScriptedProvider
) -> None:
    order = approved(scripted)
    with scripted.scope() as scope:
        lease = acquire_order_lease(scope, order, timedelta(seconds=30))
        control.stop_task(scope, str(order.task_id))
    with scripted.scope() as scope:
        ask_at_new_price(scope, lease, order, CurrentPrice(Decimal("1.00"), "USD"), Decimal(2))
    assert scripted.get(order.id).state is OrderState.CANCELLED
    assert (scripted.cards(), scripted.reservation_states()) == ([], ["released"])

"""The watch over orders."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from itertools import pairwise

import pytest

from core.tables import changes
from generation.execution.recovery import find_stuck_orders, recover_orders, ring_order_again
from generation.orders.lease import acquire_order_lease
from generation.orders.order import get_order
from generation.orders.states import OrderState
from generation.tables import orders
from runtime.limits import credits
from runtime.tables import budgets, reservations
from tests.generation.world import GenerationWorld, StudioOfTests
from tests.properties.mortal import Died, MortalDatabase

FIRST_PAUSE = 2
PATIENCE = timedelta(seconds=10)


def watch(world: GenerationWorld) -> list[str]:
    """Ids of the bells that one pass rings."""
    before = len(world.store.bells.rung)
    recover_orders(world.database, world.workspace_id, FIRST_PAUSE, PATIENCE)
    return world.store.bells.ids()[before:]


@pytest.mark.boundary(22)
def test_the_bell_of_an_order_that_was_lost_is_sent_again_under_a_new_id(world: GenerationWorld) -> None:
    task = world.task()
    order = world.order(task, world.turn(task))
    assert watch(world) == []
    world.store.clock.advance(timedelta(seconds=12))
    assert watch(world) == [f"{order.id}:ring-1"]
    assert watch(world) == []


@pytest.mark.boundary("22b")
def test_a_run_that_is_lost_again_and_again_is_started_ever_more_slowly(world: GenerationWorld) -> None:
    task = world.task()
    order = world.order(task, world.turn(task))
    rung = []
    for second in range(0, 400, 8):
        world.store.clock.advance(timedelta(seconds=8))
        rung += [(second, bell) for bell in watch(world)]
    assert [bell for _, bell in rung] == [f"{order.id}:ring-{n}" for n in range(1, len(rung) + 1)]
    gaps = [later - earlier for (earlier, _), (later, _) in pairwise(rung)]
    assert gaps == sorted(gaps)
    assert 3 <= len(rung) < 8


def test_an_order_that_somebody_works_on_is_left_alone(world: GenerationWorld) -> None:
    task = world.task()
    order = world.order(task, world.turn(task))
    world.store.clock.advance(timedelta(seconds=12))
    with world.scope() as scope:
        acquire_order_lease(scope, get_order(scope, order.id), timedelta(seconds=30))
    assert watch(world) == []


def test_an_order_with_fresh_news_and_one_that_ended_are_left_alone(world: GenerationWorld) -> None:
    task = world.task()
    fence = world.turn(task)
    fresh = world.order(task, fence, 1)
    ended = world.order(task, fence, 2)
    world.follow(ended)
    world.store.clock.advance(timedelta(hours=1))
    with world.scope() as scope:
        scope.change(scope.update(orders).where(orders.c.id == fresh.id).values(news_at=scope.now))
    assert watch(world) == []


def test_a_job_is_left_alone_for_its_own_pause(world: GenerationWorld) -> None:
    """An old job is asked about once a minute, so that a minute without news is no sign of a lost run."""
    task = world.task()
    order = world.order(task, world.turn(task))
    with world.scope() as scope:
        long_ago = scope.now - timedelta(hours=1)
        scope.change(scope.update(orders).values(state="running", submitted_at=long_ago, news_at=scope.now))
    world.store.clock.advance(timedelta(seconds=65))
    assert watch(world) == []
    world.store.clock.advance(timedelta(seconds=10))
    assert watch(world) == [f"{order.id}:ring-1"]


@pytest.mark.case("B43")
def test_money_of_an_order_that_cannot_be_resolved_is_freed_after_its_deadline(
    world: GenerationWorld, the_studio: StudioOfTests
) -> None:
    task = world.task()
    order = world.order(task, world.turn(task))
    world.submit(order)
    the_studio.fault("lost_job", times=None)
    world.store.clock.advance(timedelta(seconds=31))
    assert [world.poll(order).state for _ in range(3)][-1] == OrderState.UNRESOLVED
    world.store.clock.advance(timedelta(minutes=30))
    watch(world)
    assert world.reservation_states() == ["held"]

    world.store.clock.advance(timedelta(hours=1))
    watch(world)
    assert world.reservation_states() == ["released"]
    assert world.money("release") == [order.quote]


def test_a_reservation_without_an_order_is_freed(world: GenerationWorld) -> None:
    task = world.task()
    order = world.order(task, world.turn(task))
    with world.scope() as scope:
        scope.change(scope.update(reservations).values(order_id="order_gone"))
    world.store.clock.advance(timedelta(minutes=2))
    watch(world)
    assert world.reservation_states() == ["released"]
    assert world.get(order.id).open


def test_a_skills_question_is_freed_without_a_word_of_an_order(world: GenerationWorld) -> None:
    with world.scope() as scope:
        credits.reserve_credit(scope, "llm:1", Decimal("0.10"), task_id=None, skill_id="watch")
    world.store.clock.advance(timedelta(minutes=17))
    watch(world)
    assert world.reservation_states() == ["released"]
    with world.scope() as scope:
        assert scope.rows(scope.select(changes.c.id).where(changes.c.kind == "generation")) == []


def test_an_unresolved_order_is_asked_about_for_a_week(world: GenerationWorld) -> None:
    task = world.task()
    world.order(task, world.turn(task))
    with world.scope() as scope:
        scope.change(scope.update(orders).values(state="unresolved"))
    rung = 0
    for _ in range(8 * 4):
        world.store.clock.advance(timedelta(hours=6))
        rung += len(watch(world))
    assert 3 < rung <= 28
    assert watch(world) == []


def test_one_pass_rings_once_even_when_two_watch(world: GenerationWorld) -> None:
    task = world.task()
    world.order(task, world.turn(task))
    world.store.clock.advance(timedelta(seconds=12))

    with world.scope() as scope:
        (quiet,) = find_stuck_orders(scope, FIRST_PAUSE, PATIENCE)
        assert (ring_order_again(scope, quiet), ring_order_again(scope, quiet)) == (True, False)


def test_each_order_is_rung_for_in_a_transaction_of_its_own(world: GenerationWorld) -> None:
    task = world.task()
    fence = world.turn(task)
    placed = [world.order(task, fence, n) for n in (1, 2)]
    world.store.clock.advance(timedelta(seconds=12))
    mortal = MortalDatabase(world.database.url, clock=world.store.clock)
    mortal.die_at(2)
    with pytest.raises(Died):
        recover_orders(mortal, world.workspace_id, FIRST_PAUSE, PATIENCE)
    mortal.close()
    assert sorted(world.get(order.id).ring for order in placed) == [0, 1]


def test_trouble_with_one_row_does_not_keep_the_watch_from_the_others(world: GenerationWorld) -> None:
    task = world.task()
    fence = world.turn(task)
    dead, quiet = (world.order(task, fence, n) for n in (1, 2))
    with world.scope() as scope:
        scope.change(scope.update(orders).where(orders.c.id == dead.id).values(state="failed"))
        scope.change(scope.delete(budgets))
    world.store.clock.advance(timedelta(minutes=2))
    assert watch(world) == [f"{quiet.id}:ring-1"]
    assert world.reservation_states() == ["held", "held"]

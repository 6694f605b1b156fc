"""Poll of a job: trouble is no news, an unknown word is no success, and nothing waits for ever."""

from __future__ import annotations

from datetime import timedelta

import pytest

from generation.execution.progress import compute_pause
from generation.orders.end import cancel_order
from generation.orders.order import Order
from generation.orders.states import OrderState
from runtime.limits import credits
from tests.generation.world import GenerationWorld, StudioOfTests, studio_provider
from tests.support.waiting import until

TROUBLE = {
    "error_status:500": "status 500",
    "html_status": "no JSON",
    "unknown_state:REVIEWING": "REVIEWING",
    "error_body_status": "upstream exploded",
    "lost_job": "no such job",
    "delay_status:4": "does not answer",
}


def submitted(world: GenerationWorld) -> Order:
    task = world.task()
    order = world.order(task, world.turn(task))
    world.submit(order)
    return world.get(order.id)


def impatient(world: GenerationWorld, studio: StudioOfTests) -> None:
    world.dependencies.providers["studio"] = studio_provider(studio, ask_seconds=2.0)


@pytest.mark.case("B45")
@pytest.mark.parametrize("fault", TROUBLE)
def test_short_trouble_with_the_provider_passes(world: GenerationWorld, the_studio: StudioOfTests, fault: str) -> None:
    impatient(world, the_studio)
    order = submitted(world)
    the_studio.fault(fault, times=1)

    found = world.poll(order)

    assert found.next == "wait"
    assert TROUBLE[fault] in (world.get(order.id).error or "")
    ended = world.follow(order)
    assert (ended.state, ended.error) == (OrderState.SUCCEEDED, None)


@pytest.mark.case("B45")
@pytest.mark.parametrize("fault", TROUBLE)
def test_lasting_trouble_ends_with_its_reason_and_the_jobs_id(
    world: GenerationWorld, the_studio: StudioOfTests, fault: str
) -> None:
    impatient(world, the_studio)
    order = submitted(world)
    until("made", lambda: the_studio.job(order.key)["state"] == "succeeded")
    the_studio.fault(fault, times=None)
    assert world.poll(order).next == "wait"
    world.store.clock.advance(timedelta(seconds=world.dependencies.settings.order_deadline_seconds))

    found = world.poll(order)

    ended = world.get(order.id)
    assert (found.next, ended.state) == ("end", OrderState.UNRESOLVED)
    assert TROUBLE[fault] in (ended.error or "")
    assert ended.upstream_id == order.upstream_id
    assert world.reservation_states() == ["released"]


@pytest.mark.case("B45")
def test_a_job_that_is_not_done_by_its_deadline_is_cancelled_with_the_last_reason(
    world: GenerationWorld, slow_studio: StudioOfTests
) -> None:
    world.dependencies.providers["studio"] = studio_provider(slow_studio)
    order = submitted(world)
    slow_studio.fault("error_status:500", times=None)
    world.poll(order)
    world.store.clock.advance(timedelta(seconds=world.dependencies.settings.order_deadline_seconds))

    world.poll(order)

    ended = world.get(order.id)
    assert ended.state is OrderState.CANCELLED
    assert "status 500" in (ended.error or "")
    assert world.reservation_states() == ["released"]


@pytest.mark.case("B45")
def test_a_success_after_three_errors_counts(world: GenerationWorld, the_studio: StudioOfTests) -> None:
    order = submitted(world)
    the_studio.fault("error_status:503", times=3)
    assert world.follow(order).state is OrderState.SUCCEEDED


@pytest.mark.case("B45")
def test_a_lost_job_is_given_up_soon_and_its_money_kept_until_the_deadline(
    world: GenerationWorld, the_studio: StudioOfTests
) -> None:
    order = submitted(world)
    the_studio.fault("lost_job", times=None)
    assert [world.poll(order).next for _ in range(5)] == ["wait"] * 5
    world.store.clock.advance(timedelta(seconds=31))
    assert world.poll(order).state == OrderState.UNRESOLVED
    assert world.reservation_states() == ["held"]


@pytest.mark.case("B45")
def test_a_job_is_not_lost_by_one_answer(world: GenerationWorld, slow_studio: StudioOfTests) -> None:
    """Three in a row, with no other word of the job between; trouble of another kind is no word of it."""
    world.dependencies.providers["studio"] = studio_provider(slow_studio)
    order = submitted(world)
    world.store.clock.advance(timedelta(seconds=31))
    for fault in ("lost_job", "lost_job", None, "lost_job", "error_status:500", "lost_job", None):
        if fault is not None:
            slow_studio.fault(fault)
        assert world.poll(order).next == "wait"
    slow_studio.fault("lost_job", times=3)
    assert [world.poll(order).next for _ in range(3)] == ["wait", "wait", "end"]
    assert world.get(order.id).state is OrderState.UNRESOLVED


def test_a_late_end_of_an_unresolved_order_is_stored_and_charged_but_wakes_nothing(
    world: GenerationWorld, the_studio: StudioOfTests
) -> None:
    order = submitted(world)
    until("made", lambda: the_studio.job(order.key)["state"] == "succeeded")
    the_studio.fault("lost_job", times=None)
    world.store.clock.advance(timedelta(seconds=31))
    for _ in range(3):
        world.poll(order)
    with world.scope() as scope:
        credits.release_reservation(scope, order.id)
    rung = len(world.store.bells.rung)
    the_studio.heal()

    ended = world.follow(order)

    assert (ended.state, len(ended.object_ids)) == (OrderState.SUCCEEDED, 1)
    assert world.money("settle") == [order.quote]
    assert len(world.store.bells.rung) == rung


def test_a_job_that_fails_says_why_and_costs_nothing(world: GenerationWorld, the_studio: StudioOfTests) -> None:
    the_studio.fault("content_refused")
    ended = world.follow(submitted(world))
    assert ended.state is OrderState.FAILED
    assert ended.error
    assert (ended.charge, world.reservation_states()) == (None, ["released"])


def test_polls_slow_down() -> None:
    ages = [compute_pause(timedelta(seconds=age), 2) for age in (0, 7, 9, 60, 240, 3600)]
    assert ages == [2, 2, 3, 15, 60, 60]
    assert compute_pause(timedelta(0), 0.2) == 1


def test_a_cancelled_order_is_cancelled_at_the_provider(world: GenerationWorld, slow_studio: StudioOfTests) -> None:
    world.dependencies.providers["studio"] = studio_provider(slow_studio)
    order = submitted(world)
    with world.scope() as scope:
        cancel_order(scope, order.id)
    assert f"{order.id}:cancel" in world.store.bells.ids()

    ended = world.follow(order)

    assert ended.state is OrderState.CANCELLED
    assert slow_studio.job(order.key)["state"] == "cancelled"
    assert world.reservation_states() == ["released"]


def test_a_job_that_was_done_before_the_cancel_is_stored_and_charged(
    world: GenerationWorld, the_studio: StudioOfTests
) -> None:
    order = submitted(world)
    until("made", lambda: the_studio.job(order.key)["state"] == "succeeded")
    with world.scope() as scope:
        cancel_order(scope, order.id)
    ended = world.follow(order)
    assert (ended.state, world.money("settle")) == (OrderState.SUCCEEDED, [order.quote])


def test_a_final_order_is_not_asked_about(world: GenerationWorld, the_studio: StudioOfTests) -> None:
    order = submitted(world)
    ended = world.follow(order)
    the_studio.fault("error_status:500", times=None)
    assert world.poll(order).next == "end"
    assert world.get(order.id) == ended

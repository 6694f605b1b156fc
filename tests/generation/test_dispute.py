"""Dispute over an order's end: the provider is asked, a few times at most, and a late success comes home."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from core.errors import LostError, UnavailableError
from generation.execution.callbacks import record_callback
from generation.execution.dispute import MOST_DISPUTES
from generation.execution.recovery import recover_orders
from generation.orders.end import cancel_order
from generation.orders.order import Order
from generation.orders.states import OrderState
from generation.providers.port import JobLostError, JobNews, JobOutput, JobState
from generation.providers.scripted import Question, ScriptedProvider
from runtime.commands import control
from runtime.inbox import inbox
from tests.generation.world import GenerationWorld, world_of
from tests.properties.upstream import SOUND
from tests.support.databases import Store

JOB = "job_1"
MADE = JobNews(
    JOB, JobState.SUCCEEDED, 1.0, (JobOutput("audio/wav", url="https://x.example/1"),), Decimal("0.03"), "USD"
)


@pytest.fixture
def provider() -> ScriptedProvider:
    return ScriptedProvider()


@pytest.fixture
def scripted(store: Store, tmp_path: Path, provider: ScriptedProvider) -> GenerationWorld:
    return world_of(store, tmp_path / "home", provider)


def submitted(world: GenerationWorld, provider: ScriptedProvider) -> Order:
    task = world.task()
    order = world.order(task, world.turn(task))
    provider.foresee("submit", JobNews(JOB, JobState.RUNNING))
    world.submit(order)
    return world.get(order.id)


def failed(world: GenerationWorld, provider: ScriptedProvider) -> Order:
    order = submitted(world, provider)
    provider.foresee("status", JobNews(JOB, JobState.FAILED, error="it broke"))
    assert world.poll(order).state == OrderState.FAILED
    return order


def cancelled(world: GenerationWorld, provider: ScriptedProvider) -> Order:
    order = submitted(world, provider)
    with world.scope() as scope:
        cancel_order(scope, order.id)
    provider.foresee("cancel", JobNews(JOB, JobState.CANCELLED))
    assert world.poll(order).state == OrderState.CANCELLED
    return order


def unresolved(world: GenerationWorld, provider: ScriptedProvider) -> Order:
    order = submitted(world, provider)
    world.store.clock.advance(timedelta(seconds=31))
    provider.foresee("status", *[JobLostError("no such job")] * 3)
    assert [world.poll(order).state for _ in range(3)][-1] == OrderState.UNRESOLVED
    return order


def call_back(
    world: GenerationWorld, provider: ScriptedProvider, state: JobState, sequence: int = 1, **said: Any
) -> None:
    provider.foresee("verify_callback", JobNews(JOB, state, sequence=sequence, **said))
    record_callback(world.dependencies, provider.name, {}, b"{}")


def questions(provider: ScriptedProvider) -> int:
    return sum(1 for question, _ in provider.asked if question in ("status", "cancel", "look_up"))


ENDS = {"failed": failed, "cancelled": cancelled, "unresolved": unresolved}
End = Callable[[GenerationWorld, ScriptedProvider], Order]


@pytest.mark.boundary(29)
@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_a_success_that_the_provider_confirms_is_stored_and_wakes_no_task(
    scripted: GenerationWorld, provider: ScriptedProvider, end: End
) -> None:
    order = end(scripted, provider)
    rung = len(scripted.store.bells.rung)
    call_back(scripted, provider, JobState.SUCCEEDED, 7)
    assert scripted.store.bells.ids()[rung:] == [f"{order.id}:7:doubt"]

    provider.foresee("cancel" if end is cancelled else "status", MADE)
    provider.foresee("fetch", SOUND)
    assert scripted.poll(order).next == "settle"
    scripted.settle(order)

    ended = scripted.get(order.id)
    assert (ended.state, len(ended.object_ids), ended.charge) == (OrderState.SUCCEEDED, 1, Decimal("0.03"))
    assert (scripted.money("settle"), scripted.reservation_states()) == ([Decimal("0.03")], ["settled"])
    assert len(scripted.store.bells.rung) == rung + 1
    with scripted.scope() as scope:
        assert [item.ref_id for item in inbox.list_unread(scope, str(order.task_id))] == [order.id]


@pytest.mark.boundary(29)
@pytest.mark.parametrize("end", [failed, cancelled])
def test_a_false_callback_changes_nothing_and_has_the_provider_asked_a_few_times_at_most(
    scripted: GenerationWorld, provider: ScriptedProvider, end: End
) -> None:
    order = end(scripted, provider)
    before, asked = scripted.get(order.id), questions(provider)
    rung = len(scripted.store.bells.rung)
    question: Question = "cancel" if end is cancelled else "status"
    for n in range(20):
        call_back(scripted, provider, JobState.SUCCEEDED, 2 * n)
        call_back(scripted, provider, JobState.SUCCEEDED, 2 * n + 1)
        provider.foresee(question, JobNews(JOB, JobState.FAILED, error="it broke"))
        scripted.poll(order)
        provider.forget()

    after = scripted.get(order.id)
    assert len(scripted.store.bells.rung) - rung == questions(provider) - asked == MOST_DISPUTES
    assert (after.state, after.error, after.charge) == (before.state, before.error, None)
    assert scripted.reservation_states() == ["released"]


@pytest.mark.boundary(29)
@pytest.mark.parametrize("said", [JobState.FAILED, JobState.CANCELLED])
def test_an_end_reported_for_an_unresolved_order_is_checked_and_stored(
    scripted: GenerationWorld, provider: ScriptedProvider, said: JobState
) -> None:
    order = unresolved(scripted, provider)
    call_back(scripted, provider, said)
    assert scripted.store.bells.ids()[-1] == f"{order.id}:1:doubt"
    provider.foresee("status", JobNews(JOB, said))
    assert scripted.poll(order).state == said.value
    assert scripted.reservation_states() == ["released"]


@pytest.mark.boundary(29)
@pytest.mark.parametrize("said", [JobState.RUNNING, JobState.QUEUED, JobState.UNKNOWN, JobState.FAILED])
def test_a_late_callback_is_no_contradiction(
    scripted: GenerationWorld, provider: ScriptedProvider, said: JobState
) -> None:
    order = failed(scripted, provider)
    rung = len(scripted.store.bells.rung)
    call_back(scripted, provider, said)
    assert scripted.poll(order).next == "end"
    assert len(scripted.store.bells.rung) == rung


@pytest.mark.boundary(29)
def test_a_question_that_the_provider_did_not_answer_is_asked_again_by_the_watch(
    scripted: GenerationWorld, provider: ScriptedProvider
) -> None:
    order = failed(scripted, provider)
    call_back(scripted, provider, JobState.SUCCEEDED)
    provider.foresee("status", UnavailableError("away"))
    assert scripted.poll(order).next == "end"

    scripted.store.clock.advance(timedelta(minutes=11))
    recover_orders(scripted.database, scripted.workspace_id, 1, timedelta(seconds=10))
    assert scripted.store.bells.ids()[-1] == f"{order.id}:ring-1"
    provider.foresee("status", MADE)
    assert scripted.poll(order).next == "settle"


@pytest.mark.boundary(29)
@pytest.mark.parametrize("end", [failed, cancelled])
@pytest.mark.parametrize("said", [JobState.RUNNING, JobState.QUEUED, JobState.UNKNOWN])
def test_a_job_that_has_not_ended_after_all_is_asked_about_until_it_has(
    scripted: GenerationWorld, provider: ScriptedProvider, end: End, said: JobState
) -> None:
    # Given an order that has ended, and a provider that says otherwise
    order = end(scripted, provider)
    call_back(scripted, provider, JobState.SUCCEEDED)
    question: Question = "cancel" if end is cancelled else "status"

    # When, asked, it says that the job is still there
    provider.foresee(question, JobNews(JOB, said))
    assert scripted.poll(order).state == OrderState.UNRESOLVED

    # Then the watch has it asked again, until what it made and billed is booked
    scripted.store.clock.advance(timedelta(minutes=11))
    recover_orders(scripted.database, scripted.workspace_id, 1, timedelta(seconds=10))
    assert scripted.store.bells.ids()[-1] == f"{order.id}:ring-1"
    provider.foresee(question, MADE)
    provider.foresee("fetch", SOUND)
    assert scripted.poll(order).next == "settle"
    scripted.settle(order)
    assert (scripted.get(order.id).state, scripted.money("settle")) == (OrderState.SUCCEEDED, [Decimal("0.03")])


@pytest.mark.boundary(29)
def test_one_answer_that_the_provider_knows_no_such_job_settles_no_dispute(
    scripted: GenerationWorld, provider: ScriptedProvider
) -> None:
    order = failed(scripted, provider)
    call_back(scripted, provider, JobState.SUCCEEDED)
    scripted.store.clock.advance(timedelta(seconds=31))
    for doubted in (True, True, False):
        provider.foresee("status", JobLostError("no such job"))
        scripted.poll(order)
        assert (scripted.get(order.id).doubted_at is not None) is doubted
    assert scripted.get(order.id).state is OrderState.FAILED


@pytest.mark.boundary(29)
def test_an_end_that_was_judged_by_its_bytes_is_not_disputed(
    scripted: GenerationWorld, provider: ScriptedProvider
) -> None:
    order = submitted(scripted, provider)
    provider.foresee("status", MADE)
    provider.foresee("fetch", b"")
    scripted.poll(order)
    scripted.settle(order)
    assert scripted.get(order.id).state is OrderState.FAILED
    rung = len(scripted.store.bells.rung)
    call_back(scripted, provider, JobState.SUCCEEDED)
    assert scripted.poll(order).next == "end"
    assert len(scripted.store.bells.rung) == rung


@pytest.mark.boundary(20)
def test_a_job_sent_after_the_stop_by_a_frozen_worker_is_cancelled(
    scripted: GenerationWorld, provider: ScriptedProvider
) -> None:
    task = scripted.task()
    order = scripted.order(task, scripted.turn(task))

    def stand_still(_request: object) -> JobNews:
        """Meanwhile the lease dies, a person stops the task and another execution sees that nothing was sent."""
        with scripted.scope() as scope:
            control.stop_task(scope, task.id)
        scripted.store.clock.advance(timedelta(seconds=31))
        provider.foresee("look_up", None)
        assert scripted.submit(order).state == OrderState.CANCELLED
        return JobNews(JOB, JobState.RUNNING)

    provider.foresee("submit", stand_still)
    with pytest.raises(LostError):
        scripted.submit(order)

    assert scripted.store.bells.ids()[-1] == f"{order.id}:late"
    provider.foresee("cancel", JobNews(JOB, JobState.CANCELLED))
    assert scripted.poll(order).state == OrderState.CANCELLED
    provider.assert_spent()
    assert scripted.reservation_states() == ["released"]


@pytest.mark.boundary(20)
def test_a_result_that_a_late_sender_stored_itself_is_charged_and_not_disputed(
    scripted: GenerationWorld, provider: ScriptedProvider
) -> None:
    task = scripted.task()
    order = scripted.order(task, scripted.turn(task))

    def stand_still(_request: object) -> JobNews:
        """Meanwhile the lease dies, a person stops the task and another execution sees that nothing was sent."""
        with scripted.scope() as scope:
            control.stop_task(scope, task.id)
        scripted.store.clock.advance(timedelta(seconds=31))
        provider.foresee("look_up", None)
        assert scripted.submit(order).state == OrderState.CANCELLED
        made = (JobOutput("audio/wav", data=SOUND),)
        return JobNews(JOB, JobState.SUCCEEDED, 1.0, made, Decimal("0.03"), "USD")

    provider.foresee("submit", stand_still)
    with pytest.raises(LostError):
        scripted.submit(order)

    assert scripted.store.bells.ids()[-1] == f"{order.id}:late"
    assert scripted.poll(order).next == "settle"
    scripted.settle(order)
    ended = scripted.get(order.id)
    assert (ended.state, ended.charge, ended.doubted_at) == (OrderState.SUCCEEDED, Decimal("0.03"), None)

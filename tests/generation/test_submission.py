"""Submissions that go wrong: never a second job, never a silent loss."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from threading import Barrier

import httpx
import pytest
from pydantic import SecretStr

from app.supervision.ports import free_ports
from core.errors import BusyError, LostError, UnavailableError, UnclearError
from generation.orders.end import cancel_order
from generation.orders.lease import acquire_order_lease, hold_order_lease
from generation.orders.order import Order, get_order
from generation.orders.states import OrderState
from generation.providers.jobs import JobsProvider
from generation.providers.port import NOT_SUPPORTED, JobNews, JobState, NotAcceptedError
from generation.providers.scripted import ScriptedProvider
from generation.tables import orders
from runtime.commands import control
from tests.generation.world import KEY, PICTURE, GenerationWorld, StudioOfTests, studio_provider, world_of
from tests.support.databases import Store
from workspace.assets import Assets

LEASE = timedelta(seconds=30)


def keys(studio: StudioOfTests) -> list[str]:
    return [item["idempotency_key"] for item in studio.bill()]


@pytest.mark.boundary(27)
@pytest.mark.case("B01")
@pytest.mark.parametrize("fault", ["drop_after_store", "error_after_store:502", "error_after_store:503"])
def test_an_unclear_submission_is_found_by_its_key(
    world: GenerationWorld, the_studio: StudioOfTests, fault: str
) -> None:
    the_studio.fault(fault)
    task = world.task()
    order = world.order(task, world.turn(task))

    found = world.submit(order)

    assert found.state in (OrderState.QUEUED, OrderState.RUNNING)
    ended = world.follow(order)
    assert ended.state is OrderState.SUCCEEDED, ended.error
    assert ended.upstream_id == the_studio.job(order.key)["id"]
    assert keys(the_studio).count(order.key) == 1


@pytest.mark.boundary(27)
@pytest.mark.case("B01")
def test_an_answer_that_takes_too_long_is_found_by_its_key(
    store: Store, tmp_path: Path, the_studio: StudioOfTests
) -> None:
    world = world_of(store, tmp_path / "home", studio_provider(the_studio, submit_seconds=0.5))
    the_studio.fault("delay_reply:2")
    task = world.task()
    order = world.order(task, world.turn(task))

    assert world.follow(order).state is OrderState.SUCCEEDED
    assert keys(the_studio).count(order.key) == 1


@pytest.mark.boundary(27)
def test_an_unclear_submission_is_not_sent_again_by_the_same_run(
    store: Store, tmp_path: Path, the_studio: StudioOfTests
) -> None:
    """The provider does not know the key yet: the order waits, is asked about, and only then sent under its key."""
    world = world_of(store, tmp_path / "home", studio_provider(the_studio))
    task = world.task()
    order = world.order(task, world.turn(task))
    with world.scope() as scope:
        scope.change(scope.update(orders).values(state="submitting", deadline=scope.now + timedelta(hours=1)))

    assert world.submit(order).state in (OrderState.QUEUED, OrderState.RUNNING)
    assert world.get(order.id).key == order.key
    assert world.follow(order).state is OrderState.SUCCEEDED
    assert keys(the_studio).count(order.key) == 1


@pytest.mark.boundary(31)
def test_a_crash_before_the_jobs_id_was_saved_finds_the_job(world: GenerationWorld, the_studio: StudioOfTests) -> None:
    task = world.task()
    order = world.order(task, world.turn(task))
    body = {"kind": order.kind, "model": order.model, "params": dict(order.params), "inputs": []}
    headers = {"Authorization": f"Bearer {KEY}", "Idempotency-Key": order.key}
    with world.scope() as scope:
        acquire_order_lease(scope, get_order(scope, order.id), LEASE)
        scope.change(scope.update(orders).values(state="submitting", deadline=scope.now + timedelta(hours=1)))
    httpx.post(f"{the_studio.url}/jobs", json=body, headers=headers).raise_for_status()

    with pytest.raises(BusyError) as busy:
        world.submit(order)
    assert busy.value.wait == LEASE
    world.store.clock.advance(LEASE)
    world.submit(order)

    after = world.get(order.id)
    assert (after.upstream_id, after.epoch) == (the_studio.job(order.key)["id"], 2)
    assert world.follow(order).state is OrderState.SUCCEEDED
    assert keys(the_studio).count(order.key) == 1


@pytest.mark.boundary(18)
def test_a_late_writer_of_an_older_epoch_changes_nothing(world: GenerationWorld) -> None:
    task = world.task()
    order = world.order(task, world.turn(task))
    with world.scope() as scope:
        old = acquire_order_lease(scope, get_order(scope, order.id), LEASE)
    world.store.clock.advance(LEASE)
    with hold_order_lease(world.database, world.workspace_id, order.id, LEASE) as (new, _order):
        with world.scope() as scope, pytest.raises(LostError):
            old.write(scope, upstream_id="late")
        assert new.epoch == old.epoch + 1
    assert world.get(order.id).upstream_id is None
    assert world.get(order.id).lease_token is None


def test_a_dead_lease_is_taken_over_once(world: GenerationWorld) -> None:
    task = world.task()
    order = world.order(task, world.turn(task))
    with world.scope() as scope:
        acquire_order_lease(scope, get_order(scope, order.id), LEASE)
    world.store.clock.advance(LEASE)
    start = Barrier(5)

    def take(_n: int) -> bool:
        start.wait()
        try:
            with world.scope() as scope:
                acquire_order_lease(scope, get_order(scope, order.id), LEASE)
        except BusyError:
            return False
        return True

    with ThreadPoolExecutor(5) as pool:
        assert sum(pool.map(take, range(5))) == 1
    assert world.get(order.id).epoch == 2


def test_two_executions_at_once_make_one_job(world: GenerationWorld, the_studio: StudioOfTests) -> None:
    task = world.task()
    order = world.order(task, world.turn(task))
    start = Barrier(3)

    def send(_n: int) -> None:
        start.wait()
        try:
            world.submit(order)
        except BusyError:
            return

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(send, range(3)))
    assert world.follow(order).state is OrderState.SUCCEEDED
    assert keys(the_studio).count(order.key) == 1
    assert world.money("settle") == [order.quote]


@pytest.mark.case("B04")
def test_a_busy_provider_is_asked_again_and_each_picture_keeps_its_own_shape(
    world: GenerationWorld, the_studio: StudioOfTests
) -> None:
    task = world.task()
    fence = world.turn(task)
    sizes = ("1024x1024", "1080x1350", "1080x1920")
    world.decide(fence, 1, *[("generate_image", {**PICTURE[1], "size": size}) for size in sizes])
    placed = [world.get(str(world.call(task, fence, 1, seq).content["order_id"])) for seq in range(3)]
    world.submit(placed[0])
    the_studio.fault("busy", times=2)
    assert [world.submit(placed[1]).state for _ in range(2)] == [OrderState.ORDERED, OrderState.ORDERED]
    assert "busy" in (world.get(placed[1].id).error or "")
    world.submit(placed[2])

    ended = [world.follow(order) for order in placed]

    assert [(order.state, order.params["size"]) for order in ended] == [(OrderState.SUCCEEDED, size) for size in sizes]
    assert len({order.object_ids for order in ended}) == 3
    assert [keys(the_studio).count(order.key) for order in ended] == [1, 1, 1]
    assert [order.error for order in ended] == [None, None, None]


def test_a_provider_that_never_takes_the_job_fails_the_order_in_the_end(
    world: GenerationWorld, the_studio: StudioOfTests
) -> None:
    the_studio.fault("busy", times=None)
    task = world.task()
    order = world.order(task, world.turn(task))
    assert world.submit(order).next == "wait"
    world.store.clock.advance(timedelta(seconds=world.dependencies.settings.order_deadline_seconds + 1))

    assert world.submit(order).state == OrderState.FAILED
    assert "busy" in (world.get(order.id).error or "")
    assert world.reservation_states() == ["released"]


@pytest.mark.boundary(25)
def test_an_order_that_waited_long_for_the_engine_is_still_sent(world: GenerationWorld) -> None:
    task = world.task()
    order = world.order(task, world.turn(task))
    world.store.clock.advance(timedelta(hours=5))
    assert world.follow(order).state is OrderState.SUCCEEDED


def test_a_provider_that_is_not_there_was_asked_for_nothing(
    store: Store, tmp_path: Path, the_studio: StudioOfTests
) -> None:
    world = world_of(store, tmp_path / "home", studio_provider(the_studio))
    task = world.task()
    order = world.order(task, world.turn(task))
    there = world.dependencies.providers["studio"]
    world.dependencies.providers["studio"] = JobsProvider(
        "studio", f"http://127.0.0.1:{free_ports(1)[0]}", SecretStr(KEY)
    )
    assert world.submit(order).state == OrderState.ORDERED
    world.dependencies.providers["studio"] = there
    assert world.follow(order).state is OrderState.SUCCEEDED


def test_a_refused_job_fails_at_once(world: GenerationWorld) -> None:
    task = world.task()
    order = world.order(task, world.turn(task))
    with world.scope() as scope:
        scope.change(scope.update(orders).values(params={"prompt": "x", "seconds": 0}))
    assert world.submit(order).state == OrderState.FAILED
    assert "422" in (world.get(order.id).error or "")
    assert world.reservation_states() == ["released"]


def test_a_provider_that_is_no_longer_set_up_fails_what_was_not_sent(world: GenerationWorld) -> None:
    task = world.task()
    order = world.order(task, world.turn(task))
    world.dependencies.providers.clear()
    assert world.submit(order).state == OrderState.FAILED


@pytest.mark.boundary(20)
def test_an_order_of_a_stopped_task_that_was_not_sent_is_not_sent(
    world: GenerationWorld, the_studio: StudioOfTests
) -> None:
    task = world.task()
    order = world.order(task, world.turn(task))
    with world.scope() as scope:
        control.stop_task(scope, task.id)
    assert world.submit(order).state == OrderState.CANCELLED
    assert world.reservation_states() == ["released"]
    assert order.key not in keys(the_studio)


def test_an_order_cancelled_before_it_was_sent_ends_at_once(world: GenerationWorld) -> None:
    task = world.task()
    order = world.order(task, world.turn(task))
    with world.scope() as scope:
        assert cancel_order(scope, order.id).state is OrderState.CANCELLED
    assert world.submit(order).next == "end"
    assert world.reservation_states() == ["released"]


def test_an_order_cancelled_while_it_was_not_taken_is_not_sent_again(
    world: GenerationWorld, the_studio: StudioOfTests
) -> None:
    task = world.task()
    order = world.order(task, world.turn(task))
    with world.scope() as scope:
        scope.change(scope.update(orders).values(state="submitting", deadline=scope.now + timedelta(hours=1)))
        assert cancel_order(scope, order.id).state is OrderState.SUBMITTING
        # The provider was busy: nothing was started, and the order is as it was before it was sent.
        scope.change(scope.update(orders).values(state="ordered", error="busy"))
    assert world.submit(order).state == OrderState.CANCELLED
    assert order.key not in keys(the_studio)


@pytest.mark.boundary(27)
def test_a_provider_that_says_when_to_retry_is_left_alone_until_then(store: Store, tmp_path: Path) -> None:
    provider = ScriptedProvider()
    world = world_of(store, tmp_path / "home", provider)
    task = world.task()
    order = world.order(task, world.turn(task))
    provider.foresee("submit", NotAcceptedError("busy", timedelta(seconds=90)))
    assert (world.submit(order).state, world.submit(order).pause) == (OrderState.ORDERED, 90)
    world.store.clock.advance(timedelta(seconds=80))
    assert (world.poll(order).pause, len(provider.asked)) == (20, 1)
    world.store.clock.advance(timedelta(seconds=10))
    provider.foresee("submit", NotAcceptedError("busy", timedelta(days=1)))
    assert world.submit(order).pause == 600
    world.store.clock.advance(timedelta(minutes=10))
    provider.foresee("submit", JobNews("job_1", JobState.RUNNING))
    assert world.submit(order).state == OrderState.RUNNING
    assert len(provider.asked) == 3


@pytest.mark.boundary(20)
def test_an_order_that_was_put_off_ends_with_its_task(store: Store, tmp_path: Path) -> None:
    provider = ScriptedProvider()
    world = world_of(store, tmp_path / "home", provider)
    task = world.task()
    order = world.order(task, world.turn(task))
    provider.foresee("submit", NotAcceptedError("busy", timedelta(seconds=90)))
    world.submit(order)
    stop_it(world, order)
    assert world.submit(order).state == OrderState.CANCELLED


class BrokenAssets(Assets):
    """A store that is away for a moment."""

    def read(self, sha256: str) -> bytes:
        raise OSError("the store is away")


@pytest.mark.boundary(27)
@pytest.mark.parametrize("honours_keys", [True, False])
def test_trouble_with_our_own_store_sends_nothing_and_says_so(store: Store, tmp_path: Path, honours_keys: bool) -> None:
    provider = ScriptedProvider(honours_keys=honours_keys)
    world = world_of(store, tmp_path / "home", provider)
    task = world.task()
    order = world.order(task, world.turn(task), tool="generate_image")
    kept = world.dependencies.assets.put(b"picture")
    source = {"role": "source", "object_id": "o", "version": 1, "sha256": kept.sha256, "media_type": "image/png"}
    with world.scope() as scope:
        scope.change(scope.update(orders).values(inputs=[source]))
    there = world.dependencies
    world.dependencies = replace(there, assets=BrokenAssets(f"file://{tmp_path / 'home' / 'assets'}"))
    with pytest.raises(OSError, match="the store is away"):
        world.submit(order)
    assert (world.get(order.id).state, provider.asked) == (OrderState.ORDERED, [])

    world.dependencies = there
    provider.foresee("submit", JobNews("job_1", JobState.RUNNING))
    assert world.submit(order).state == OrderState.RUNNING
    assert [question for question, _ in provider.asked] == ["submit"]


def test_inputs_that_are_gone_fail_the_order_before_anything_is_sent(
    world: GenerationWorld, the_studio: StudioOfTests
) -> None:
    task = world.task()
    order = world.order(task, world.turn(task))
    gone = {"role": "source", "object_id": "o", "version": 1, "sha256": "0" * 64, "media_type": "image/png"}
    with world.scope() as scope:
        scope.change(scope.update(orders).values(inputs=[gone]))
    assert world.submit(order).state == OrderState.FAILED
    assert order.key not in keys(the_studio)


def stop_it(world: GenerationWorld, order: Order) -> None:
    with world.scope() as scope:
        control.stop_task(scope, str(order.task_id))


def cancel_it(world: GenerationWorld, order: Order) -> None:
    with world.scope() as scope:
        cancel_order(scope, order.id)


def died_before_sending(world: GenerationWorld) -> Order:
    """An order of a process that died once it was marked as perhaps sent."""
    task = world.task()
    order = world.order(task, world.turn(task))
    with world.scope() as scope:
        acquire_order_lease(scope, get_order(scope, order.id), LEASE)
        scope.change(
            scope.update(orders).values(
                state="submitting", submitted_at=scope.now, deadline=scope.now + timedelta(hours=1)
            )
        )
    world.store.clock.advance(LEASE)
    return order


@pytest.mark.boundary(20)
@pytest.mark.parametrize("end", [stop_it, cancel_it])
def test_an_order_whose_worker_died_before_sending_is_not_sent_once_it_is_cancelled(
    world: GenerationWorld, the_studio: StudioOfTests, end: Callable[[GenerationWorld, Order], None]
) -> None:
    order = died_before_sending(world)
    end(world, order)

    assert world.submit(order).state == OrderState.CANCELLED

    assert world.reservation_states() == ["released"]
    with pytest.raises(httpx.HTTPStatusError):
        the_studio.job(order.key)
    assert order.key not in keys(the_studio)


@pytest.mark.boundary(20)
@pytest.mark.parametrize("end", [stop_it, cancel_it])
def test_an_order_whose_answer_was_lost_is_still_found_after_it_is_cancelled(
    world: GenerationWorld, slow_studio: StudioOfTests, end: Callable[[GenerationWorld, Order], None]
) -> None:
    world.dependencies.providers["studio"] = studio_provider(slow_studio)
    order = died_before_sending(world)
    body = {"kind": order.kind, "model": order.model, "params": dict(order.params), "inputs": []}
    headers = {"Authorization": f"Bearer {KEY}", "Idempotency-Key": order.key}
    httpx.post(f"{slow_studio.url}/jobs", json=body, headers=headers).raise_for_status()
    end(world, order)

    world.submit(order)

    assert world.get(order.id).upstream_id == slow_studio.job(order.key)["id"]
    if end is cancel_it:
        assert world.poll(order).state == OrderState.CANCELLED
        assert slow_studio.job(order.key)["state"] == "cancelled"


@pytest.mark.boundary(20)
@pytest.mark.parametrize("end", [stop_it, cancel_it])
def test_a_submission_that_may_still_arrive_is_waited_for(
    store: Store, tmp_path: Path, the_studio: StudioOfTests, end: Callable[[GenerationWorld, Order], None]
) -> None:
    """The line went dead: until a lease after the sending, that the provider knows nothing proves nothing."""
    provider = ScriptedProvider(offers=studio_provider(the_studio).capabilities())
    world = world_of(store, tmp_path / "home", provider)
    task = world.task()
    order = world.order(task, world.turn(task))
    provider.foresee("submit", UnclearError("cut off"))
    provider.foresee("look_up", None, None, None)
    assert world.submit(order).state == OrderState.SUBMITTING
    end(world, order)

    assert world.submit(order).state == OrderState.SUBMITTING
    assert world.reservation_states() == ["held"]
    world.store.clock.advance(LEASE)
    assert world.submit(order).state == OrderState.CANCELLED
    assert [question for question, _ in provider.asked] == ["submit", "look_up", "look_up", "look_up"]
    assert world.reservation_states() == ["released"]


@pytest.mark.boundary(20)
@pytest.mark.parametrize("end", [stop_it, cancel_it])
def test_a_provider_that_cannot_be_asked_leaves_it_unresolved(
    store: Store, tmp_path: Path, end: Callable[[GenerationWorld, Order], None]
) -> None:
    provider = ScriptedProvider(honours_keys=False)
    world = world_of(store, tmp_path / "home", provider)
    order = died_before_sending(world)
    end(world, order)
    provider.foresee("look_up", NOT_SUPPORTED)
    assert world.submit(order).state == OrderState.UNRESOLVED
    assert [question for question, _ in provider.asked] == ["look_up"]


@pytest.mark.boundary(20)
@pytest.mark.parametrize("end", [stop_it, cancel_it])
def test_a_provider_that_is_away_is_asked_until_the_deadline(
    store: Store, tmp_path: Path, end: Callable[[GenerationWorld, Order], None]
) -> None:
    provider = ScriptedProvider()
    world = world_of(store, tmp_path / "home", provider)
    order = died_before_sending(world)
    end(world, order)
    provider.foresee("look_up", UnavailableError("away"), UnavailableError("away"))
    assert world.submit(order).state == OrderState.SUBMITTING
    world.store.clock.advance(timedelta(hours=1))
    assert world.submit(order).state == OrderState.UNRESOLVED
    assert [question for question, _ in provider.asked] == ["look_up", "look_up"]

"""Points that an order meets only in trouble: a process dies at each, and the next one finishes the work once."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from functools import partial

import httpx
import pytest

import workspace.objects
from core.errors import UnclearError
from core.tools import Effect
from generation.execution import recovery as order_recovery
from generation.execution.recovery import ring_for_next_run
from generation.orders.end import cancel_order
from generation.orders.order import Order
from generation.providers.port import NOT_SUPPORTED, JobNews, JobRequest, JobState
from generation.providers.scripted import ScriptedProvider
from runtime import notices
from runtime.commands import control
from runtime.limits import guard
from runtime.tables import inbox
from runtime.tasks.tasks import Task
from runtime.turns.lease import TurnFence
from tests.faults.dying import at_once
from tests.faults.stage import Stage, commit
from tests.generation.world import FILM_5, GenerationWorld, world_of
from tests.support.waiting import until

pytestmark = pytest.mark.kill

DEATHS: dict[str, tuple[str, ...]] = {
    "watch_of_the_orders": commit("watch.repaired"),
    "order_handed_over": commit("order.handed_over"),
    "unwanted": ("order.submitting.after_commit",),
    "order_ended": commit("order.ended"),
    "order_renewed": commit("order.renewed"),
    "overcharged": commit("order.settled"),
    "put_back": commit("order.put_back"),
    "unclear": commit("order.noted"),
    "looked_up": ("provider.look_up.before", "provider.look_up.after"),
    "trouble": commit("order.trouble"),
    "stored": ("assets.put.before", "assets.put.after"),
    "priced": ("provider.list.before", "provider.list.after"),
    "overtaken": ("provider.fetch.before", "provider.fetch.after", *commit("order.settled")),
    "sent_and_not_asked_about": ("provider.submit.after", *commit("order.ended"), *commit("watch.repaired")),
    "never_answered": (*commit("order.ended"), *commit("watch.repaired")),
}


@pytest.mark.boundary(22)
def test_watcher_that_dies_while_it_repairs_an_order_is_replaced(stage: Stage) -> None:
    _, order = stage.ordered()
    stage.store.clock.advance(timedelta(minutes=1))

    def look() -> None:
        order_recovery.recover_orders(stage.store.database, stage.store.workspace_id, 1, timedelta(seconds=10))

    stage.die(DEATHS["watch_of_the_orders"], look)

    assert stage.world().get(order.id).ring >= 1


@pytest.mark.boundary(30)
def test_order_whose_run_is_long_is_handed_to_the_next(stage: Stage) -> None:
    _, order = stage.ordered()
    database, ws = stage.store.database, stage.store.workspace_id

    stage.die(DEATHS["order_handed_over"], lambda: ring_for_next_run(database, ws, order.id))

    assert stage.world().get(order.id).ring == 2


@pytest.mark.boundary(20)
@pytest.mark.parametrize("wish", ["stop", "cancel"])
def test_order_whose_process_died_before_sending_is_not_sent_after_its_cancellation(stage: Stage, wish: str) -> None:
    task, order = stage.ordered()

    def follow() -> None:
        world = stage.world()
        if world.get(order.id).state == "submitting":
            with world.scope() as scope:
                if wish == "stop":
                    control.stop_task(scope, task.id)
                else:
                    cancel_order(scope, order.id)
            stage.store.clock.advance(timedelta(seconds=31))
        world.follow(order)

    stage.die(DEATHS["unwanted"], follow)

    world = stage.world()
    assert (world.get(order.id).state, world.money("release")) == ("cancelled", [order.quote])
    assert order.key not in [row["idempotency_key"] for row in stage.studio.bill()]
    with pytest.raises(httpx.HTTPStatusError):
        stage.studio.job(order.key)


@pytest.mark.boundary(34)
def test_order_that_fails_settles_its_money_once(stage: Stage) -> None:
    stage.studio.fault("empty_output", times=1)
    task, order = stage.ordered()

    stage.die(DEATHS["order_ended"], lambda: stage.world().follow(order))

    _assert_ended(stage, task, order, "failed", works=0)
    assert stage.world().money("settle") == [order.quote]


@pytest.mark.boundary(38)
def test_charge_above_the_quote_is_booked_once_and_the_next_act_is_asked_about(stage: Stage) -> None:
    stage.studio.fault("overcharge:3", times=1)
    task, order = stage.ordered()
    stage.world().poll(order)

    def follow() -> None:
        world = stage.world()
        until("made or over", lambda: world.poll(order).next != "wait", 30)
        if world.get(order.id).open:
            world.settle(order)

    stage.die(DEATHS["overcharged"], follow)

    world = stage.world()
    assert world.money("settle") == [order.quote * 2]
    assert world.get(order.id).claim == f"{order.quote * 3} USD"
    with world.scope() as scope:
        assert len(notices.list_newest_notices(scope)) == 1
    assert "held" not in world.reservation_states()
    with world.scope() as scope:
        facts = guard.gather_call_facts(
            scope,
            effect=Effect.PAID,
            person_id=stage.store.person_id,
            asked_by="person",
            task_id=task.id,
            amount=order.quote,
        )
    verdict = guard.judge_call(facts)
    assert isinstance(verdict, guard.NeedsQuote)
    assert verdict.limit == "overcharge"


@pytest.mark.boundary(37)
def test_two_processes_that_want_the_last_of_the_day_get_it_once(stage: Stage) -> None:
    world = stage.world()
    world.limits(free_per_day=Decimal("0.25"))
    pairs = [(task, world.turn(task)) for task in (world.task("one"), world.task("other"))]
    for _, fence in pairs:
        world.decide(fence, 1, FILM_5)

    def place(task: Task, fence: TurnFence) -> None:
        stage.world().call(task, fence, 1, 0)

    at_once(stage.store, [partial(place, *pair) for pair in pairs])

    after = stage.world()
    assert (len(after.orders()), len(after.cards())) == (1, 1)


@pytest.mark.boundary(18)
def test_worker_whose_heartbeat_stops_while_a_job_is_sent_leaves_it_to_the_next(stage: Stage) -> None:
    """The job of the first one is found by its key, so that a second order meets the other death."""
    stage.studio.fault("delay_reply:1.5", times=2)
    world = stage.world()
    task = world.task()
    fence = world.turn(task)
    both = [world.order(task, fence, n) for n in (1, 2)]

    stage.die(DEATHS["order_renewed"], lambda: [stage.world(lease_seconds=1).follow(order) for order in both])

    for order in both:
        _assert_made_once(stage, task, order)


@pytest.mark.boundary(27)
def test_order_that_was_not_accepted_is_sent_later(stage: Stage) -> None:
    stage.studio.fault("busy", times=2)
    task, order = stage.ordered()

    stage.die(DEATHS["put_back"], lambda: stage.world().follow(order))

    _assert_made_once(stage, task, order)


@pytest.mark.boundary(27)
def test_unclear_submission_is_noted_and_found(stage: Stage) -> None:
    """The death before the note ends the first attempt's story; a second order meets the death after it."""
    stage.studio.fault("drop_after_store", times=2)
    world = stage.world()
    task = world.task()
    fence = world.turn(task)
    one, two = (world.order(task, fence, n) for n in (1, 2))

    stage.die(DEATHS["unclear"], lambda: [stage.world().follow(order) for order in (one, two)])

    _assert_made_once(stage, task, one)
    _assert_made_once(stage, task, two)


@pytest.mark.boundary(31)
def test_lookup_of_a_job_by_its_key_may_be_repeated(stage: Stage) -> None:
    stage.studio.fault("drop_after_store", times=1)
    task, order = stage.ordered()

    stage.die(DEATHS["looked_up"], lambda: stage.world().follow(order))

    _assert_made_once(stage, task, order)


@pytest.mark.boundary(30)
def test_trouble_with_the_provider_is_noted_and_passes(stage: Stage) -> None:
    stage.studio.fault("error_status:502", times=2)
    task, order = stage.ordered()

    stage.die(DEATHS["trouble"], lambda: stage.world().follow(order))

    _assert_made_once(stage, task, order)


@pytest.mark.boundary(28)
def test_bytes_that_were_stored_before_a_death_are_one_work(stage: Stage) -> None:
    task, order = stage.ordered()

    stage.die(DEATHS["stored"], lambda: stage.world().follow(order))

    _assert_made_once(stage, task, order)


@pytest.mark.boundary(19)
def test_lookup_of_prices_comes_before_any_order(stage: Stage) -> None:
    world = stage.world()
    task = world.task()
    fence = world.turn(task)
    world.decide(fence, 1, ("generate_audio", {"prompt": "Waves", "title": "Waves", "seconds": 3}))

    stage.die(DEATHS["priced"], lambda: stage.world().call(task, fence, 1, 0))

    assert len(stage.world().orders()) == 1


@pytest.mark.boundary(35)
def test_result_for_an_overtaken_version_is_kept_stale_and_not_placed(stage: Stage) -> None:
    """Of three orders one would be the picture's next version, one was made from it, and one from it for another."""
    world = stage.world()
    task = world.task()
    fence = world.turn(task)
    picture, other = (world.follow(world.order(task, fence, n, tool="generate_image")).object_ids[0] for n in (1, 2))
    ordered = [
        world.order(task, fence, 3, tool="generate_image", object_id=picture, size=None),
        world.order(task, fence, 4, tool="generate_image", references=[picture], size=None),
        world.order(task, fence, 5, tool="generate_image", object_id=other, references=[picture], size=None),
    ]
    with world.scope() as scope:
        workspace.objects.add_version(
            scope, picture, base_version=1, media_type="image/png", size=1, sha256="0" * 64,
            title="By hand", created_by="person_local", cause="by hand", recipe={},
        )  # fmt: skip

    stage.die(DEATHS["overtaken"], lambda: [stage.world().follow(order) for order in ordered])

    for order in ordered:
        _assert_made_once(stage, task, order)
    world = stage.world()
    with world.scope() as scope:
        kept = [workspace.objects.get_object(scope, world.get(order.id).object_ids[0]) for order in ordered]
        here = [workspace.objects.get_object(scope, object_id) for object_id in (picture, other)]
    assert [(one.version, one.stale) for one in kept] == [(1, True)] * 3
    assert [(one.version, one.stale) for one in here] == [(2, False), (1, False)]
    assert here[0].title == "By hand"


@pytest.mark.boundary(27, 31)
@pytest.mark.parametrize("case", ["sent_and_not_asked_about", "never_answered"])
def test_job_that_cannot_be_looked_up_is_unresolved_and_refunded_once(stage: Stage, case: str) -> None:
    """Its process dies with the answer in hand, or no answer comes; it is never sent a second time."""
    sent = stage.folder / "sent"

    def answer(request: JobRequest) -> JobNews:
        with sent.open("a") as log:
            log.write(f"{request.key}\n")
        if case == "never_answered":
            raise UnclearError("the line went dead")
        return JobNews(request.key, JobState.RUNNING)

    def world() -> GenerationWorld:
        provider = ScriptedProvider(honours_keys=False)
        provider.foresee("submit", answer)
        provider.foresee("look_up", NOT_SUPPORTED)
        return world_of(stage.store, stage.folder / "home", provider)

    task = world().task()
    order = world().order(task, world().turn(task))

    def follow() -> None:
        own = world()
        own.poll(order)
        stage.store.clock.advance(timedelta(hours=2))
        order_recovery.recover_orders(own.database, own.workspace_id, 1, timedelta(seconds=10))

    stage.die(DEATHS[case], follow)

    own = world()
    assert own.get(order.id).state == "unresolved"
    assert sent.read_text().split() == [order.key]
    assert (own.money("release"), own.money("settle"), own.reservation_states()) == ([order.quote], [], ["released"])
    with stage.store.database.reading(stage.store.workspace_id) as scope:
        outcomes = scope.rows(scope.select(inbox).where(inbox.c.task_id == task.id, inbox.c.ref_id == order.id))
    assert len(outcomes) == 1


def _assert_made_once(stage: Stage, task: Task, order: Order) -> None:
    _assert_ended(stage, task, order, "succeeded", works=1)
    assert [row["idempotency_key"] for row in stage.studio.bill()].count(order.key) == 1


def _assert_ended(stage: Stage, task: Task, order: Order, state: str, *, works: int) -> None:
    world = stage.world()
    ended = world.get(order.id)
    assert (ended.state, len(ended.object_ids)) == (state, works)
    with stage.store.database.reading(stage.store.workspace_id) as scope:
        outcomes = scope.rows(scope.select(inbox).where(inbox.c.task_id == task.id, inbox.c.ref_id == order.id))
    assert len(outcomes) == 1
    assert world.money("release") == []
    assert "held" not in world.reservation_states()

"""Settlement of orders: one work, one charge, one wake-up; and nothing that is no work."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from threading import Barrier

import pytest
import sqlalchemy as sa

import workspace.objects
from core.errors import BusyError, UnavailableError
from generation.orders.order import Order
from generation.orders.states import OrderState
from generation.tables import orders
from runtime.cards import cards
from runtime.commands import control
from runtime.inbox import inbox
from runtime.limits import credits
from runtime.statuses import TurnStatus, WaitKind
from runtime.tables import turns
from runtime.tasks import tasks, waits
from runtime.turns.lease import TurnFence
from tests.generation.world import GenerationWorld, StudioOfTests
from tests.support.waiting import until
from workspace.tables import objects


def made(world: GenerationWorld, order: Order) -> Order:
    """Submitted, and done at the studio; not settled."""
    until("made", lambda: world.poll(order).next == "settle")
    return world.get(order.id)


def close_and_wait(world: GenerationWorld, fence: TurnFence, task_id: str, refs: list[str]) -> None:
    """What the runtime writes when a turn ends to wait for its orders."""
    with world.scope() as scope:
        fence.close(scope, TurnStatus.WAITING, "")
        waits.begin_wait(scope, task_id, fence.turn_id, WaitKind.GENERATION, refs)


def open_turns(world: GenerationWorld, task_id: str) -> int:
    with world.scope() as scope:
        query = scope.select(turns).where(turns.c.task_id == task_id, turns.c.status.in_(("queued", "running")))
        return len(scope.rows(query))


def count(world: GenerationWorld, table: sa.Table) -> int:
    with world.scope() as scope:
        return len(scope.rows(scope.select(table)))


@pytest.mark.boundary(28)
def test_two_completions_together_are_one_work_one_charge_one_wake_up(world: GenerationWorld) -> None:
    task = world.task()
    fence = world.turn(task)
    order = world.order(task, fence)
    close_and_wait(world, fence, task.id, [order.id])
    made(world, order)
    start = Barrier(4)

    def settle(_n: int) -> None:
        start.wait()
        try:
            world.settle(order)
        except BusyError:
            return

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(settle, range(4)))

    assert world.get(order.id).state is OrderState.SUCCEEDED
    assert count(world, objects) == 1
    assert world.money("settle") == [order.quote]
    assert open_turns(world, task.id) == 1
    with world.scope() as scope:
        assert [item.ref_id for item in inbox.list_unread(scope, task.id)] == [order.id]


@pytest.mark.case("B48")
def test_three_orders_that_end_together_wake_their_task_once(world: GenerationWorld) -> None:
    task = world.task()
    fence = world.turn(task)
    placed = [world.order(task, fence, n) for n in (1, 2, 3)]
    close_and_wait(world, fence, task.id, [order.id for order in placed])
    for order in placed:
        made(world, order)
    start = Barrier(3)

    def settle(order: Order) -> None:
        start.wait()
        world.settle(order)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(settle, placed))

    assert open_turns(world, task.id) == 1
    with world.scope() as scope:
        assert {item.ref_id for item in inbox.list_unread(scope, task.id)} == {order.id for order in placed}
        assert waits.find_wait(scope, task.id) is None


@pytest.mark.boundary(34)
def test_an_order_that_fails_leaves_the_others_alone(world: GenerationWorld, the_studio: StudioOfTests) -> None:
    task = world.task()
    fence = world.turn(task)
    first, second = world.order(task, fence, 1), world.order(task, fence, 2)
    close_and_wait(world, fence, task.id, [first.id, second.id])
    the_studio.fault("fail_job")
    failed = world.follow(first)
    assert open_turns(world, task.id) == 0
    kept = world.follow(second)
    assert (failed.state, kept.state) == (OrderState.FAILED, OrderState.SUCCEEDED)
    assert open_turns(world, task.id) == 1
    assert world.money("settle") == [second.quote]


@pytest.mark.boundary(20)
def test_a_result_after_the_stop_is_stored_and_charged_and_does_not_wake_the_task(world: GenerationWorld) -> None:
    task = world.task()
    fence = world.turn(task)
    order = world.order(task, fence)
    made(world, order)
    with world.scope() as scope:
        control.stop_task(scope, task.id)

    ended = world.follow(order)

    assert (ended.state, len(ended.object_ids)) == (OrderState.SUCCEEDED, 1)
    assert world.money("settle") == [order.quote]
    assert open_turns(world, task.id) == 0
    with world.scope() as scope:
        assert inbox.list_unread(scope, task.id) == []
        assert tasks.get_task(scope, task.id).status == "stopped"


@pytest.mark.boundary(32)
def test_a_light_task_is_done_without_a_turn(world: GenerationWorld) -> None:
    task = world.task(kind="light")
    fence = world.turn(task)
    order = world.order(task, fence)
    close_and_wait(world, fence, task.id, [order.id])

    world.follow(order)

    with world.scope() as scope:
        assert tasks.get_task(scope, task.id).status == "done"
        (card,) = cards.list_open_cards(scope, task.id)
        assert (card.kind, card.subject["order_id"]) == ("result", order.id)
    assert open_turns(world, task.id) == 0


@pytest.mark.boundary(38)
@pytest.mark.parametrize(
    ("fault", "says"), [("empty_output", "empty"), ("wrong_type_output", "not audio")], ids=["empty", "mistyped"]
)
def test_an_output_of_no_use_fails_the_order_which_is_charged_what_was_billed(
    world: GenerationWorld, the_studio: StudioOfTests, fault: str, says: str
) -> None:
    the_studio.fault(fault)
    task = world.task()
    ended = world.follow(world.order(task, world.turn(task)))
    assert ended.state is OrderState.FAILED
    assert says in (ended.error or "")
    assert count(world, objects) == 0
    (billed,) = [row["amount"] for row in the_studio.bill() if row["idempotency_key"] == ended.key]
    assert ended.charge == Decimal(billed)
    assert (world.money("settle"), world.reservation_states()) == ([Decimal(billed)], ["settled"])


@pytest.mark.boundary(38)
def test_a_bill_for_an_output_of_no_use_is_charged_within_the_bound(
    world: GenerationWorld, the_studio: StudioOfTests
) -> None:
    the_studio.fault("overcharge:50")
    task = world.task()
    order = made(world, world.order(task, world.turn(task)))
    with world.scope() as scope:
        scope.change(scope.update(orders).values(outputs=[{**order.outputs[0], "sha256": "0" * 64}]))
    world.settle(order)
    ended = world.get(order.id)
    assert (ended.state, ended.charge, ended.contested) == (OrderState.FAILED, order.most, "above_most")
    assert world.money("settle") == [order.most]


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://127.0.0.1:1/outputs/x", "not one of its hosts"),
        ("http://169.254.169.254/latest/meta-data", "not one of its hosts"),
        ("file:///etc/passwd", "without an http address"),
        ("http://user@{host}/outputs/x", "without an http address"),
        ("{studio}/nowhere", "status 404"),
    ],
)
def test_outputs_come_from_the_providers_own_address_only(
    world: GenerationWorld, the_studio: StudioOfTests, url: str, says: str
) -> None:
    task = world.task()
    order = made(world, world.order(task, world.turn(task)))
    address = url.format(studio=the_studio.url, host=the_studio.url.removeprefix("http://"))
    with world.scope() as scope:
        scope.change(scope.update(orders).values(outputs=[{"url": address, "media_type": "audio/wav", "sha256": ""}]))
    world.settle(order)
    ended = world.get(order.id)
    assert ended.state is OrderState.FAILED
    assert says in (ended.error or "")


def test_an_output_that_is_not_the_announced_one_fails(world: GenerationWorld) -> None:
    task = world.task()
    order = made(world, world.order(task, world.turn(task)))
    with world.scope() as scope:
        scope.change(scope.update(orders).values(outputs=[{**order.outputs[0], "sha256": "0" * 64}]))
    world.settle(order)
    assert "hash differs" in (world.get(order.id).error or "")


def test_a_provider_that_is_away_is_asked_for_the_output_until_the_deadline(world: GenerationWorld) -> None:
    task = world.task()
    order = made(world, world.order(task, world.turn(task)))
    there = world.dependencies.providers.pop("studio")
    with pytest.raises(UnavailableError):
        world.settle(order)
    assert world.get(order.id).lease_token is None
    world.dependencies.providers["studio"] = there
    world.settle(order)
    assert world.get(order.id).state is OrderState.SUCCEEDED


def test_an_output_that_does_not_come_by_the_deadline_is_unresolved_and_may_still_come(world: GenerationWorld) -> None:
    task = world.task()
    fence = world.turn(task)
    order = made(world, world.order(task, fence))
    close_and_wait(world, fence, task.id, [order.id])
    there = world.dependencies.providers.pop("studio")
    world.store.clock.advance(timedelta(seconds=world.dependencies.settings.order_deadline_seconds))
    world.settle(order)
    ended = world.get(order.id)
    assert (ended.state, ended.charge, ended.claim) == (OrderState.UNRESOLVED, None, "0.03 USD")
    assert (world.reservation_states(), open_turns(world, task.id)) == (["released"], 1)
    world.settle(order)
    assert world.get(order.id) == ended

    world.dependencies.providers["studio"] = there
    world.settle(order)

    late = world.get(order.id)
    assert (late.state, len(late.object_ids), late.charge) == (OrderState.SUCCEEDED, 1, Decimal("0.03"))
    assert (world.money("settle"), open_turns(world, task.id)) == ([order.quote], 1)


@pytest.mark.boundary(38)
def test_a_charge_above_the_quote_is_recorded(world: GenerationWorld, the_studio: StudioOfTests) -> None:
    the_studio.fault("overcharge:1.5")
    task = world.task()
    order = made(world, world.order(task, world.turn(task)))
    world.settle(order)
    ended = world.get(order.id)
    assert (ended.quote, ended.charge) == (Decimal("0.03"), Decimal("0.045"))
    with world.scope() as scope:
        assert credits.read_budget(scope).balance == Decimal("99.955")
        assert credits.read_budget(scope).spent_today == Decimal("0.045")


@pytest.mark.boundary(35)
def test_a_result_for_an_overtaken_version_is_kept_stale_and_not_placed(world: GenerationWorld) -> None:
    task = world.task()
    fence = world.turn(task)
    picture = world.follow(world.order(task, fence, 1, tool="generate_image")).object_ids[0]
    order = made(world, world.order(task, fence, 2, tool="generate_image", object_id=picture, size=None))
    with world.scope() as scope:
        workspace.objects.add_version(
            scope, picture, base_version=1, media_type="image/png", size=1, sha256="0" * 64,
            title="By hand", created_by="person_local", cause="by hand", recipe={},
        )  # fmt: skip
    world.settle(order)
    (kept,) = world.get(order.id).object_ids
    assert kept != picture
    with world.scope() as scope:
        assert workspace.objects.get_object(scope, kept).stale
        assert workspace.objects.get_object(scope, picture).title == "By hand"

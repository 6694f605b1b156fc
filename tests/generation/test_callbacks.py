"""Callbacks come twice, late, contradicting or forged."""

from __future__ import annotations

import hashlib
import hmac
import json
from datetime import timedelta
from typing import Any

import pytest

from core.errors import InvalidError, NotFoundError, RefusedError
from generation.execution.callbacks import record_callback
from generation.execution.recovery import ring_if_news
from generation.orders.order import Order
from generation.orders.states import OrderState
from tests.generation.world import KEY, GenerationWorld, StudioOfTests, studio_provider
from tests.support.waiting import until


def signed(world: GenerationWorld, body: bytes, *, key: str = KEY, age: float = 0) -> dict[str, str]:
    at = int(world.store.clock.now().timestamp() - age)
    digest = hmac.new(key.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    return {"X-Jobs-Signature": f"t={at},v1={digest}"}


def news(order: Order, state: str, progress: float = 0.0, sequence: int = 1, **more: Any) -> bytes:
    job: dict[str, Any] = {
        "id": order.upstream_id,
        "state": state,
        "progress": progress,
        "outputs": [],
        "sequence": sequence,
    }
    return json.dumps({**job, **more}).encode()


def call_back(world: GenerationWorld, body: bytes, **options: Any) -> Order:
    return record_callback(world.dependencies, "studio", signed(world, body, **options), body)


def running(world: GenerationWorld, slow_studio: StudioOfTests) -> Order:
    world.dependencies.providers["studio"] = studio_provider(slow_studio)
    task = world.task()
    order = world.order(task, world.turn(task))
    world.submit(order)
    return world.get(order.id)


@pytest.mark.case("B47")
def test_progress_only_moves_forward(world: GenerationWorld, slow_studio: StudioOfTests) -> None:
    order = running(world, slow_studio)
    story = [("running", 0.4), ("running", 0.2), ("queued", 0.0), ("running", 0.4), ("running", 0.8)]
    seen = [call_back(world, news(order, state, progress, n)).progress for n, (state, progress) in enumerate(story)]
    assert seen == [0.4, 0.4, 0.4, 0.4, 0.8]
    assert world.get(order.id).state is OrderState.RUNNING


@pytest.mark.case("B47")
def test_a_callback_that_claims_an_end_has_the_provider_asked(
    world: GenerationWorld, slow_studio: StudioOfTests
) -> None:
    order = running(world, slow_studio)
    done = news(order, "succeeded", 1.0, 7, outputs=[{"url": "http://elsewhere/x", "media_type": "audio/wav"}])

    call_back(world, done)
    call_back(world, done)
    call_back(world, news(order, "failed", sequence=8))

    assert world.store.bells.ids()[-3:] == [f"{order.id}:7", f"{order.id}:7", f"{order.id}:8"]
    after = world.get(order.id)
    # The studio itself says that it is still at it: nothing of the claims is believed.
    assert (after.state in (OrderState.QUEUED, OrderState.RUNNING), after.outputs) == (True, ())
    assert world.poll(order).next == "wait"


@pytest.mark.boundary(29)
@pytest.mark.case("B47")
def test_a_finished_order_stays_finished(world: GenerationWorld, the_studio: StudioOfTests) -> None:
    task = world.task()
    order = world.follow(world.order(task, world.turn(task)))
    rung = len(world.store.bells.rung)
    stories = ("running", "succeeded", "queued", "failed", "cancelled", "REVIEWING")
    for n, state in enumerate(stories):
        call_back(world, news(order, state, 0.8, n))
    assert world.get(order.id) == order
    assert len(world.store.bells.rung) == rung
    assert world.money("settle") == [order.quote]


@pytest.mark.case("B47")
def test_a_late_success_of_an_unresolved_order_wakes_its_run(
    world: GenerationWorld, slow_studio: StudioOfTests
) -> None:
    order = running(world, slow_studio)
    slow_studio.fault("lost_job", times=None)
    world.store.clock.advance(timedelta(seconds=31))
    for _ in range(3):
        world.poll(order)
    call_back(world, news(order, "succeeded", 1.0, 9))
    bell = world.store.bells.rung[-1]
    assert (bell.event.name, bell.id) == ("generation/ordered", f"{order.id}:9:doubt")


@pytest.mark.case("B07")
def test_a_callback_that_came_before_the_wait_is_seen(world: GenerationWorld, slow_studio: StudioOfTests) -> None:
    order = running(world, slow_studio)
    found = world.poll(order)
    assert not ring_if_news(world.database, world.workspace_id, order.id, found.seen, "run:1")

    world.store.clock.advance(timedelta(milliseconds=5))
    call_back(world, news(order, "succeeded", 1.0, 3))

    assert ring_if_news(world.database, world.workspace_id, order.id, found.seen, "run:1")
    assert world.store.bells.ids()[-1] == f"{order.id}:run:1"


def test_an_unknown_job_is_told_apart_so_that_it_is_sent_again(
    world: GenerationWorld, slow_studio: StudioOfTests
) -> None:
    order = running(world, slow_studio)
    body = news(order, "succeeded").replace(str(order.upstream_id).encode(), b"job_nobody_knows")
    with pytest.raises(NotFoundError):
        call_back(world, body)
    with pytest.raises(NotFoundError):
        record_callback(world.dependencies, "nobody", signed(world, body), body)


@pytest.mark.parametrize("age", [301, -301, 10**9])
def test_an_old_callback_is_refused(world: GenerationWorld, slow_studio: StudioOfTests, age: float) -> None:
    order = running(world, slow_studio)
    with pytest.raises(RefusedError, match="300 s"):
        call_back(world, news(order, "succeeded"), age=age)


@pytest.mark.parametrize(
    "signature",
    ["", "t=1", "v1=ab", "t=1,v1=", "t=,v1=é", "nonsense", "t=99999999999999999999,v1=00", "t=1;v1=2", "t=-5,v1=x"],
)
def test_a_forged_callback_is_refused(world: GenerationWorld, slow_studio: StudioOfTests, signature: str) -> None:
    order = running(world, slow_studio)
    with pytest.raises(RefusedError):
        record_callback(world.dependencies, "studio", {"X-Jobs-Signature": signature}, news(order, "succeeded"))
    with pytest.raises(RefusedError):
        record_callback(world.dependencies, "studio", {}, news(order, "succeeded"))
    with pytest.raises(RefusedError):
        call_back(world, news(order, "succeeded"), key="another key")
    assert world.get(order.id).news_at == order.news_at


def test_the_name_of_the_header_is_read_in_any_case(world: GenerationWorld, slow_studio: StudioOfTests) -> None:
    order = running(world, slow_studio)
    body = news(order, "running", 0.5)
    headers = {name.lower(): value for name, value in signed(world, body).items()}
    assert record_callback(world.dependencies, "studio", headers, body).progress == 0.5


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b"\xff", b'{"id": "x", "state": {}}', b"[" * 5000, b"x" * (1 << 21)]
)
def test_a_signed_body_that_is_no_job_is_invalid(world: GenerationWorld, body: bytes) -> None:
    with pytest.raises(InvalidError):
        record_callback(world.dependencies, "studio", signed(world, body), body)


@pytest.mark.case("B47")
def test_late_callbacks_of_the_studio_change_nothing(world: GenerationWorld, the_studio: StudioOfTests) -> None:
    """What the studio would call back with is collected here and delivered in every order."""
    task = world.task()
    order = world.order(task, world.turn(task))
    world.submit(order)
    until("made", lambda: the_studio.job(order.key)["state"] == "succeeded")
    told = world.get(order.id)
    call_back(world, news(told, "succeeded", 1.0, 2))
    ended = world.follow(order)
    call_back(world, news(told, "running", 0.8, 3))
    call_back(world, news(told, "failed", 0.0, 4))
    assert world.get(order.id) == ended
    assert ended.state is OrderState.SUCCEEDED

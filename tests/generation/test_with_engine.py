"""Orders followed by the durable function, on a real engine, with callbacks over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import flask
import inngest
import pytest

from app.processes.worker_app import create_worker_app
from app.supervision.ports import free_ports
from core.clock import SystemClock
from core.database import Database
from core.errors import LoopwrightError
from core.events import Bell, GenerationOrdered
from core.orchestrator.bells import InngestBells
from core.orchestrator.engine import Engine
from functions.generate import generate
from generation.execution.callbacks import record_callback
from generation.orders.end import cancel_order
from generation.orders.states import OrderState
from tests.generation.world import GenerationWorld, StudioOfTests, studio, studio_provider, world_of
from tests.support.databases import prepared_file
from tests.support.engines import RunningEngine
from tests.support.waiting import until
from tests.support.wsgi import serving


@dataclass
class Live:
    world: GenerationWorld
    studio: StudioOfTests


@pytest.fixture
def live(any_engine: RunningEngine, tmp_path: Path) -> Iterator[Live]:
    """Orders are asked about every few seconds."""
    with _live(any_engine, tmp_path, 3) as lively:
        yield lively


@pytest.fixture
def patient(any_engine: RunningEngine, tmp_path: Path) -> Iterator[Live]:
    """Orders are asked about so rarely that only news can end them in time."""
    with _live(any_engine, tmp_path, 60) as lively:
        yield lively


@contextmanager
def _live(any_engine: RunningEngine, tmp_path: Path, poll_seconds: float) -> Iterator[Live]:
    client = inngest.Inngest(
        app_id="loopwright",
        is_production=any_engine.signing_key is not None,
        signing_key=any_engine.signing_key,
        event_key=any_engine.event_key,
        api_base_url=any_engine.url,
        event_api_base_url=any_engine.url,
    )
    store = prepared_file(tmp_path / "live.sqlite")
    store.database.close()
    store.database = Database(store.database.url, clock=SystemClock(), bells=InngestBells(client))
    with ExitStack() as stack:
        running = stack.enter_context(studio(tmp_path / "studio"))
        web_port, worker_port = free_ports(2)
        web = f"http://127.0.0.1:{web_port}"
        provider = studio_provider(running, callback_url=f"{web}/callbacks/studio")
        world = world_of(store, tmp_path / "home", provider, poll_seconds=poll_seconds)
        stack.enter_context(serving(_callback_door(world), web_port))
        engine = Engine.at(any_engine.url, any_engine.signing_key, any_engine.event_key)
        worker, registration = create_worker_app(
            client,
            [generate(client, world.dependencies)],
            engine,
            f"http://127.0.0.1:{worker_port}",
            SystemClock(),
            pause=0.3,
        )
        stack.enter_context(serving(worker, worker_port))
        registration.start()
        try:
            assert registration.settled.wait(30)
            yield Live(world, running)
        finally:
            registration.stop()
            client._http_client._http_client_sync.close()
            store.database.close()


def _callback_door(world: GenerationWorld) -> flask.Flask:
    """What the web process does with a callback, without the rest of it."""
    app = flask.Flask("web")

    @app.post("/callbacks/<name>")
    def take(name: str) -> tuple[str, int]:
        try:
            record_callback(world.dependencies, name, dict(flask.request.headers), flask.request.get_data())
        except LoopwrightError as error:
            return error.code, 404
        return "", 204

    return app


def _ended(live: Live, count: int) -> bool:
    orders = live.world.orders()
    return len(orders) == count and all(not order.open for order in orders)


def test_three_posters_of_one_decision_are_made_once_each(live: Live) -> None:
    world = live.world
    task = world.task()
    fence = world.turn(task)
    wishes = [("generate_image", {"prompt": f"Poster {n}", "title": f"Poster {n}"}) for n in range(3)]
    world.decide(fence, 1, *wishes)

    for seq in range(3):
        assert world.call(task, fence, 1, seq).ok

    until("three posters", lambda: _ended(live, 3), 60)
    orders = world.orders()
    assert [order.state for order in orders] == [OrderState.SUCCEEDED] * 3, [order.error for order in orders]
    assert len({order.object_ids for order in orders}) == 3
    assert sorted(item["idempotency_key"] for item in live.studio.bill()) == sorted(order.key for order in orders)


@pytest.mark.boundary(30)
def test_without_callbacks_asking_finishes_the_job(live: Live) -> None:
    live.studio.fault("no_callbacks", times=None)
    task = live.world.task()
    live.world.order(task, live.world.turn(task))

    until("the sound", lambda: _ended(live, 1), 60)
    assert live.world.orders()[0].state is OrderState.SUCCEEDED


@pytest.mark.case("B07")
def test_a_callback_that_comes_before_the_wait_is_not_missed(patient: Live) -> None:
    world = patient.world
    task = world.task()
    fence = world.turn(task)
    sounds = [("generate_audio", {"prompt": f"Waves {n}", "title": f"Waves {n}", "seconds": 3}) for n in range(12)]
    world.decide(fence, 1, *sounds)
    for seq in range(12):
        assert world.call(task, fence, 1, seq).ok

    # Asking alone would take more than a minute: each is ended by its news.
    until("all sounds", lambda: _ended(patient, 12), 50)
    assert {order.state for order in world.orders()} == {OrderState.SUCCEEDED}
    assert len(world.money("settle")) == 12


@pytest.mark.case("B47")
def test_doubled_late_and_contradicting_callbacks_end_in_one_work(patient: Live) -> None:
    world = patient.world
    for fault in ("duplicate_callbacks", "late_progress_after_done", "failed_after_done"):
        patient.studio.fault(fault)
    task = world.task()
    fence = world.turn(task)
    placed = [world.order(task, fence, n) for n in (1, 2, 3)]

    until("all sounds", lambda: _ended(patient, 3), 50)
    ended = [world.get(order.id) for order in placed]
    assert [order.state for order in ended] == [OrderState.SUCCEEDED] * 3
    assert len({order.object_ids for order in ended}) == 3
    assert world.money("settle") == [order.quote for order in placed]


@pytest.mark.boundary(27)
@pytest.mark.case("B01")
def test_a_dropped_submission_is_one_job_and_one_charge(live: Live) -> None:
    live.studio.fault("drop_after_store")
    task = live.world.task()
    order = live.world.order(task, live.world.turn(task))

    until("the sound", lambda: _ended(live, 1), 60)
    assert live.world.get(order.id).state is OrderState.SUCCEEDED
    assert [item["idempotency_key"] for item in live.studio.bill()] == [order.key]


def test_a_cancel_reaches_a_job_that_nobody_would_have_asked_about(patient: Live, slow_studio: StudioOfTests) -> None:
    world = patient.world
    world.dependencies.providers["studio"] = studio_provider(slow_studio)
    task = world.task()
    order = world.order(task, world.turn(task))
    until("submitted", lambda: world.get(order.id).upstream_id, 30)

    with world.scope() as scope:
        cancel_order(scope, order.id)

    until("cancelled", lambda: not world.get(order.id).open, 40)
    assert world.get(order.id).state is OrderState.CANCELLED
    assert slow_studio.job(order.key)["state"] == "cancelled"


def test_a_bell_without_its_order_does_nothing(live: Live) -> None:
    with live.world.scope() as scope:
        scope.ring(Bell(GenerationOrdered(workspace_id=live.world.workspace_id, order_id="order_forged"), id="forged"))

    task = live.world.task()
    order = live.world.order(task, live.world.turn(task))
    until("the real one", lambda: _ended(live, 1), 60)
    assert [item["idempotency_key"] for item in live.studio.bill()] == [order.key]

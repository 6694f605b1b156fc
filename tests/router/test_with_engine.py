"""Routing as a durable function, on a real engine, judged by the stand-in model over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import inngest
import pytest

from app.processes.worker_app import create_worker_app
from app.supervision.ports import free_ports
from core.clock import SystemClock
from core.database import Database
from core.errors import LoopwrightError
from core.events import Bell, MessageReceived
from core.orchestrator.bells import InngestBells
from core.orchestrator.engine import Engine
from functions.route_message import route_message
from runtime.dependencies import InputSources, RuntimeDependencies
from runtime.inbox import messages
from runtime.inbox.messages import Message
from tests.model.standin import order_fault, request_log, running_standin
from tests.model.standin import standin_client as model_client
from tests.router.world import RouterWorld
from tests.support.databases import prepared_file
from tests.support.engines import RunningEngine
from tests.support.waiting import until
from tests.support.wsgi import serving

POSTERS = "Make me a set of three retro posters for the Harbour Festival, navy and cream."


@dataclass
class Live:
    world: RouterWorld
    model_url: str

    def say(self, text: str, **target: str) -> Message:
        with self.world.store.database.transaction(self.world.workspace_id) as scope:
            person_id = self.world.store.person_id
            return messages.receive_message(
                scope, person_id=person_id, asked_by="person", channel_id=None, text=text, **target
            )

    def ring(self, message: Message, bell_id: str) -> None:
        with self.world.store.database.transaction(self.world.workspace_id) as scope:
            event = MessageReceived(workspace_id=scope.workspace_id, message_id=message.id)
            scope.ring(Bell(event, id=bell_id))

    def routed(self, message: Message, seconds: float = 60) -> Message:
        until(f"the route of {message.text!r}", lambda: self.world.message(message.id).state != "received", seconds)
        return self.world.message(message.id)

    def verdicts(self) -> int:
        return len(request_log(self.model_url))


@dataclass(frozen=True)
class RouterAppDependencies:
    database: Database
    runtime: RuntimeDependencies


def parts_of(world: RouterWorld) -> RouterAppDependencies:
    second = timedelta(seconds=1)
    runtime = RuntimeDependencies(
        database=world.store.database,
        model=world.model,
        task_tools=(),
        main_tools=(),
        state_sources=(),
        inputs=InputSources({}, lambda _scope, object_id, _at: {"id": object_id}),
        open_orders=lambda _scope, _task_id: (),
        lease=second,
        patience=second,
        pause=second,
    )
    return RouterAppDependencies(world.store.database, runtime)


@pytest.fixture
def live(any_engine: RunningEngine, tmp_path: Path) -> Iterator[Live]:
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
        model_url = stack.enter_context(running_standin(tmp_path / "model", faults=True))
        world = RouterWorld(store, model_client(model_url, timeout_seconds=5))
        port = free_ports(1)[0]
        engine = Engine.at(any_engine.url, any_engine.signing_key, any_engine.event_key)
        functions = [route_message(client, parts_of(world))]
        worker, registration = create_worker_app(
            client, functions, engine, f"http://127.0.0.1:{port}", SystemClock(), pause=0.3
        )
        stack.enter_context(serving(worker, port))
        registration.start()
        try:
            until("registered", lambda: _registered(engine), 20)
            yield Live(world, model_url)
        finally:
            registration.stop()
            client._http_client._http_client_sync.close()
            store.database.close()


def _registered(engine: Engine) -> bool:
    try:
        return bool(engine.get("/v1/apps/loopwright/functions"))
    except LoopwrightError:
        return False


def test_the_storys_four_messages_find_their_places(live: Live) -> None:
    world = live.world
    posters = live.routed(live.say(POSTERS))
    task = world.get_task(posters.task_id)
    assert task.kind == "persistent"
    first, *_ = (world.work(f"Harbour Festival – Poster {n}", task) for n in (1, 2, 3))
    film = live.routed(live.say("Also turn the first one into a five-second video."))
    assert world.get_task(film.task_id).kind == "light"
    assert world.stored_route(film)["object_ids"] == [first.id]
    question = live.routed(live.say("Which video lengths can you do?"))
    assert (question.task_id, world.stored_route(question)["outcome"]) == (None, "main")
    warmer = live.routed(live.say("Could the set be a touch warmer?"))
    assert warmer.task_id == task.id
    panel = live.routed(live.say("and bigger letters", to_task_id=task.id))
    assert panel.task_id == task.id
    # four verdicts, and none for the message in the task's panel
    assert live.verdicts() == 4


def test_messages_in_quick_succession_keep_their_order_and_are_judged_once(live: Live) -> None:
    task = live.world.task("Posters")
    said = [live.say(f"thanks, number {n}") if n % 3 else live.say(f"note {n}", to_task_id=task.id) for n in range(12)]
    for message in said:
        live.ring(message, f"{message.id}:again")
    done = [live.routed(message) for message in said]
    times = [message.routed_at for message in done if message.routed_at is not None]
    assert len(times) == 12
    assert times == sorted(times)
    assert [ref for ref, _ in live.world.inbox_of(task.id)] == [said[n].id for n in (0, 3, 6, 9)]
    asked = [str(item["request"]["messages"]) for item in request_log(live.model_url)]
    assert len(asked) == len(set(asked)) == 8


def test_a_model_that_fails_is_asked_again_and_the_message_waits(live: Live) -> None:
    order_fault(live.model_url, "error:503", times=2)
    message = live.routed(live.say(POSTERS), seconds=90)
    assert message.state == "delivered"
    assert len(live.world.all_tasks()) == 1


def test_forged_bells_do_nothing(live: Live) -> None:
    with live.world.store.database.transaction(live.world.workspace_id) as scope:
        for n, message_id in enumerate(("msg_forged", "", "../../x")):
            scope.ring(Bell(MessageReceived(workspace_id=scope.workspace_id, message_id=message_id), id=f"forged-{n}"))
        scope.ring(Bell(MessageReceived(workspace_id="ws_elsewhere", message_id="msg_forged"), id="forged-elsewhere"))
    real = live.routed(live.say("thanks!"))
    assert real.state == "delivered"
    assert live.world.all_tasks() == []
    assert live.verdicts() == 1

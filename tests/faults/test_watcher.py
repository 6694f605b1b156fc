"""The watch itself dies, and the bells that it would have sent must not wait for the next minute."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import inngest
import pytest

from app.processes.worker_app import create_worker_app
from app.supervision.ports import free_ports
from core import leases
from core.clock import SystemClock
from core.database import Database
from core.orchestrator.engine import Engine
from functions.watch import watch
from runtime.inbox import messages
from tests.support.databases import Store, prepared_file
from tests.support.engines import RunningEngine, embedded, running
from tests.support.waiting import until
from tests.support.wsgi import serving

PAUSE = timedelta(seconds=1)
LEASE = timedelta(seconds=7)


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Store]:
    """A workspace that nothing but the watch looks after."""
    store = prepared_file(tmp_path / "watched.sqlite")
    store.database.close()
    store.database = Database(store.database.url, clock=SystemClock(), bells=store.bells)
    yield store
    store.database.close()


@pytest.mark.boundary(22)
@pytest.mark.kill
def test_watcher_that_died_is_replaced_before_the_next_minute(watched: Store, tmp_path: Path) -> None:
    with ExitStack() as stack:
        engine = stack.enter_context(running(embedded(tmp_path)))
        until("room before the cron of the next minute", lambda: SystemClock().now().second < 40, 30)
        minute = SystemClock().now().minute
        assert leases.acquire_lease(watched.database, "watch", "a run that died with its worker", LEASE)
        with watched.database.transaction(watched.workspace_id) as scope:
            message = messages.receive_message(
                scope, person_id=watched.person_id, asked_by="person", channel_id=None, text="Its own bell is lost."
            )

        _serve_watch(stack, engine, watched)

        until("a ring", lambda: any(name.startswith(f"{message.id}:ring-") for name in watched.bells.ids()), 90)
        assert SystemClock().now().minute == minute


def _serve_watch(stack: ExitStack, engine: RunningEngine, watched: Store) -> None:
    """A worker whose only function is the watch; it asks for a watch as soon as the engine knows it."""
    client = inngest.Inngest(
        app_id="loopwright",
        is_production=True,
        signing_key=engine.signing_key,
        event_key=engine.event_key,
        api_base_url=engine.url,
        event_api_base_url=engine.url,
    )
    stack.callback(client._http_client._http_client_sync.close)
    port = free_ports(1)[0]
    own = Engine.at(engine.url, engine.signing_key, engine.event_key)
    functions = [watch(client, watched.database, PAUSE, PAUSE, ())]
    worker, registration = create_worker_app(client, functions, own, f"http://127.0.0.1:{port}", SystemClock())
    stack.enter_context(serving(worker, port))
    stack.callback(registration.stop)
    registration.start()
    assert registration.settled.wait(30)

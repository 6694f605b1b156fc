"""An app of functions, served as the worker serves the agent's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import inngest

from app.processes.worker_app import create_worker_app
from app.supervision.ports import free_ports
from core.clock import Clock
from core.errors import LoopwrightError
from core.orchestrator.engine import Engine
from tests.support.engines import RunningEngine
from tests.support.waiting import until
from tests.support.wsgi import serving


@contextmanager
def served(
    client: inngest.Inngest, functions: Sequence[inngest.Function[Any]], engine: Engine, clock: Clock
) -> Iterator[None]:
    port = free_ports(1)[0]
    app, registration = create_worker_app(client, functions, engine, f"http://127.0.0.1:{port}", clock, pause=0.3)
    with serving(app, port):
        registration.start()
        try:
            until(f"{client.app_id} registered", lambda: _registered(engine, client.app_id), 20)
            yield
        finally:
            registration.stop()
            client._http_client._http_client_sync.close()


def client_of(engine: RunningEngine, app_id: str) -> inngest.Inngest:
    return inngest.Inngest(
        app_id=app_id,
        is_production=engine.signing_key is not None,
        signing_key=engine.signing_key,
        event_key=engine.event_key,
        api_base_url=engine.url,
        event_api_base_url=engine.url,
    )


def _registered(engine: Engine, app_id: str) -> bool:
    try:
        return bool(engine.get(f"/v1/apps/{app_id}/functions"))
    except LoopwrightError:
        return False

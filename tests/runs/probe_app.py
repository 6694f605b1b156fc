"""A small app on a real engine: steps, a retry, a sleep, a failure."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import inngest

from app.processes.worker_app import create_worker_app
from app.supervision.ports import free_ports
from core.clock import SystemClock
from core.orchestrator.engine import Engine
from core.orchestrator.registration import Registration
from tests.support.engines import RunningEngine
from tests.support.wsgi import serving


@dataclass
class ProbeApp:
    client: inngest.Inngest
    engine: Engine
    registration: Registration
    url: str
    failures_left: list[str] = field(default_factory=list)
    hold: threading.Event = field(default_factory=threading.Event)


@contextmanager
def probe_app(
    running: RunningEngine,
    name: str,
    held_by: inngest.TriggerCron | None = None,
) -> Iterator[ProbeApp]:
    """The app `name` served and registered; `<name>/go` starts `three`, `bad` and `held`."""
    trigger = inngest.TriggerEvent(event=f"{name}/go")
    client = inngest.Inngest(
        app_id=name,
        is_production=running.signing_key is not None,
        signing_key=running.signing_key,
        event_key=running.event_key,
        api_base_url=running.url,
        event_api_base_url=running.url,
    )
    failures = ["once"]
    hold = threading.Event()

    @client.create_function(fn_id="three", trigger=trigger, retries=2)
    def three(ctx: inngest.ContextSync) -> object:
        def flaky() -> str:
            if failures:
                raise RuntimeError(failures.pop())
            return "two"

        first = ctx.step.run("first", lambda: {"x": 1})
        ctx.step.sleep("nap", 1000)
        return [first, ctx.step.run("second", flaky)]

    def fails() -> str:
        raise ValueError("this never works")

    @client.create_function(fn_id="bad", trigger=trigger, retries=1)
    def bad(ctx: inngest.ContextSync) -> str:
        return ctx.step.run("never", fails)

    @client.create_function(fn_id="held", trigger=held_by or trigger, retries=0)
    def held(ctx: inngest.ContextSync) -> bool:
        return ctx.step.run("wait", lambda: hold.wait(60))

    engine = Engine.at(running.url, running.signing_key, running.event_key)
    port = free_ports(1)[0]
    app, registration = create_worker_app(
        client, [three, bad, held], engine, f"http://127.0.0.1:{port}", SystemClock(), pause=0.3
    )
    with serving(app, port) as url:
        registration.start()
        try:
            yield ProbeApp(client, engine, registration, url, failures, hold)
        finally:
            hold.set()
            registration.stop()
            # The SDK never closes its connections.
            client._http_client._http_client_sync.close()

"""The `events` service: sends events, those of `step.send_event` among them."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from core.clock import Clock
from core.errors import LoopwrightError
from core.orchestrator.engine import Engine
from core.process import crash
from sidecar.broker.errors import RequestDenied, RequestFailed
from sidecar.broker.requests import EventsRequest, EventToSend
from sidecar.broker.service import Asker, ServiceAnswer, effect_key
from sidecar.broker.services import permissions

MAX_DATA = 256 * 1024
LATEST = timedelta(days=366)
"""How far in the future an event may lie: the engine keeps it until then, even if the skill is deleted."""


class EventsService:
    """Sends events under ids derived from the skill, so that a repeated step sends none twice."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self._engine = engine
        self._clock = clock

    def check(self, asker: Asker, request: EventsRequest) -> None:
        latest = (self._clock.now() + LATEST).timestamp() * 1000
        for event in request.events:
            permissions.require_event(asker.identity, event.name)
            if len(json.dumps(event.data)) > MAX_DATA:
                raise RequestDenied("limit", f"an event's data has at most {MAX_DATA} bytes")
            if event.ts is not None and event.ts > latest:
                raise RequestFailed(f"an event's time is at most {LATEST.days} days from now", retriable=False)

    def has_effect(self, request: EventsRequest) -> bool:
        del request
        return True

    def do(self, asker: Asker, request: EventsRequest) -> ServiceAnswer:
        events = [_build_event(asker, event, n) for n, event in enumerate(request.events)]
        try:
            with crash.around("skill.send"):
                ids = self._engine.send_all(events)
            return {"ids": ids, "status": 200}
        except LoopwrightError as error:
            raise RequestFailed(str(error), retriable=error.retriable) from None

    def simulate(self, asker: Asker, request: EventsRequest) -> ServiceAnswer:
        del asker
        return {"ids": [f"pretended-{n}" for n, _ in enumerate(request.events)], "status": 200}


def _build_event(asker: Asker, event: EventToSend, n: int) -> dict[str, Any]:
    # The engine reads fields that begin with `_inngest` as its own.
    data = {name: value for name, value in (event.data or {}).items() if not name.startswith("_inngest")}
    # Without the time, which the SDK sets again when a step is repeated.
    words = {"name": event.name, "data": event.data, "n": n}
    sent = {"name": event.name, "data": data, "id": effect_key(asker, "event", event.id or None, words)}
    return {**sent, "ts": event.ts} if event.ts else sent

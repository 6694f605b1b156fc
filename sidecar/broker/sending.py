"""Events that a skill sends, `step.send_event` among them."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from core.clock import Clock
from core.errors import LoopwrightError
from core.orchestrator.engine import Engine
from core.process import crash
from sidecar.broker import permission
from sidecar.broker.act import Answer, Asker, effect_key
from sidecar.broker.asks import EventAsk, EventsAsk
from sidecar.broker.denied import Denied, Failed

MAX_DATA = 256 * 1024
LATEST = timedelta(days=366)
"""An event of a later time waits for it with the engine, whatever became of the skill; so do sleeping runs at most."""


class SendEvents:
    """Passes events on under ids of the skill's own, so that a repeat is no second event."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self._engine = engine
        self._clock = clock

    def check(self, asker: Asker, ask: EventsAsk) -> None:
        latest = (self._clock.now() + LATEST).timestamp() * 1000
        for event in ask.events:
            permission.send(asker.identity, event.name)
            if len(json.dumps(event.data)) > MAX_DATA:
                raise Denied("limit", f"an event's data has at most {MAX_DATA} bytes")
            if event.ts is not None and event.ts > latest:
                raise Failed(f"an event's time is at most {LATEST.days} days from now", retriable=False)

    def has_effect(self, ask: EventsAsk) -> bool:
        del ask
        return True

    def do(self, asker: Asker, ask: EventsAsk) -> Answer:
        events = [_event(asker, event, n) for n, event in enumerate(ask.events)]
        try:
            with crash.around("skill.send"):
                ids = self._engine.send_all(events)
            return {"ids": ids, "status": 200}
        except LoopwrightError as error:
            raise Failed(str(error), retriable=error.retriable) from None

    def pretend(self, asker: Asker, ask: EventsAsk) -> Answer:
        del asker
        return {"ids": [f"pretended-{n}" for n, _ in enumerate(ask.events)], "status": 200}


def _event(asker: Asker, event: EventAsk, n: int) -> dict[str, Any]:
    # What begins with `_inngest` the engine reads as its own word about an event.
    data = {name: value for name, value in (event.data or {}).items() if not name.startswith("_inngest")}
    # Not by its time: the SDK dates an event anew whenever a step is repeated.
    words = {"name": event.name, "data": event.data, "n": n}
    sent = {"name": event.name, "data": data, "id": effect_key(asker, "event", event.id or None, words)}
    return {**sent, "ts": event.ts} if event.ts else sent

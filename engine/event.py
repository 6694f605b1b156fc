"""An event inside the engine."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from engine.json_text import dumps

FINISHED = "inngest/function.finished"
FAILED = "inngest/function.failed"
CANCELLED = "inngest/function.cancelled"
INVOKED = "inngest/function.invoked"
TIMER = "inngest/scheduled.timer"
_INTERNAL = "inngest/"


@dataclass(frozen=True)
class Event:
    """`id` is the engine's ULID; `dedup` the sender's own id, or None; `body` what functions see."""

    id: str
    name: str
    ts: int
    body: dict[str, Any]
    dedup: str | None = None

    @property
    def internal(self) -> bool:
        return self.name.startswith(_INTERNAL)

    @property
    def data(self) -> dict[str, Any]:
        found: dict[str, Any] = self.body["data"]
        return found

    @cached_property
    def text(self) -> str:
        return dumps(self.body)


def make_event(event_id: str, name: str, data: dict[str, Any], ts: int, *, dedup: str | None = None) -> Event:
    """An event of the engine itself."""
    body = {"data": data, "id": dedup or event_id, "name": name, "ts": ts, "user": {}}
    return Event(event_id, name, ts, body, dedup)

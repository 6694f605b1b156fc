"""Events inside the engine, and reading events that clients send: checks, cleaning and the engine's ids."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from engine.formats.ids import seeded_ulid, ulid
from engine.formats.json_text import clean_text, dumps, loads
from engine.settings import EngineSettings, too_large

FUNCTION_FINISHED = "inngest/function.finished"
FUNCTION_FAILED = "inngest/function.failed"
FUNCTION_CANCELLED = "inngest/function.cancelled"
FUNCTION_INVOKED = "inngest/function.invoked"
SCHEDULED_TIMER = "inngest/scheduled.timer"
_INTERNAL = "inngest/"


@dataclass(frozen=True)
class EngineEvent:
    """An event with the engine's ULID as its `id`.

    `body` is the event as functions see it; `dedup` is the id the sender gave it, if any, by which repeats are dropped.
    """

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


def make_event(event_id: str, name: str, data: dict[str, Any], ts: int, *, dedup: str | None = None) -> EngineEvent:
    """Make an event that the engine itself sends."""
    body = {"data": data, "id": dedup or event_id, "name": name, "ts": ts, "user": {}}
    return EngineEvent(event_id, name, ts, body, dedup)


_EARLIEST_TS = 315_532_800_000
# The end of the year 9999, the last that RFC 3339 can express.
_LATEST_TS = 253_402_300_799_999
_MAX_NAME = 512


@dataclass(frozen=True)
class Intake:
    """The accepted events and, if one was refused, the reason; events after the refused one are not accepted."""

    events: Sequence[EngineEvent]
    error: str | None


def read_events(body: bytes, seed: str | None, now: int, settings: EngineSettings) -> Intake:
    """Read the events of a request body, up to the first bad one.

    `seed` is the request's `x-inngest-event-id-seed` header: with it, a repeated request gets the same ids.
    """
    try:
        value = loads(body)
    except (ValueError, RecursionError) as error:
        return Intake([], f"the body is not JSON: {error}")
    raw = value if isinstance(value, list) else [value]
    if len(raw) > settings.max_events:
        return Intake([], f"a request may have {settings.max_events} events; this one has {len(raw)}")
    entropy = _read_seed(seed)
    accepted: list[EngineEvent] = []
    for index, item in enumerate(raw):
        problem = _event_problem(item)
        if problem is None:
            event_id = seeded_ulid(entropy[0], entropy[1], index + 1) if entropy else ulid(now)
            event = _make_sent_event(item, event_id, now, seeded=entropy is not None)
            size = len(event.text.encode())
            if size <= settings.max_event:
                accepted.append(event)
                continue
            problem = too_large("the event", size, settings.max_event)
        return Intake(accepted, problem)
    return Intake(accepted, None)


def _event_problem(item: Any) -> str | None:
    if not isinstance(item, dict):
        return "an event must be an object"
    return _name_problem(item.get("name")) or _content_problem(item["name"], item.get("data"), item.get("ts"))


def _name_problem(name: Any) -> str | None:
    if not isinstance(name, str) or not name:
        return "an event must have a name"
    if len(name) > _MAX_NAME:
        return f"an event's name may have {_MAX_NAME} characters; this one has {len(name)}"
    if name.startswith("inngest/"):
        return f"the event name {name} is reserved"
    return None


def _content_problem(name: str, data: Any, moment: Any) -> str | None:
    if data is not None and not isinstance(data, dict):
        return f"the data of event {name} must be an object"
    if moment is not None and (not isinstance(moment, (int, float)) or isinstance(moment, bool)):
        return f"the ts of event {name} must be milliseconds since 1970"
    if moment and moment < _EARLIEST_TS:
        return f"the ts of event {name} is before 1980; it must be milliseconds since 1970"
    if moment and not moment <= _LATEST_TS:
        return f"the ts of event {name} is after the year 9999; it must be milliseconds since 1970"
    return None


def _make_sent_event(item: dict[str, Any], event_id: str, now: int, *, seeded: bool) -> EngineEvent:
    own_id = clean_text(str(item["id"])) if item.get("id") else None
    name = clean_text(item["name"])
    dedup = event_id if seeded and own_id is None else own_id
    data = {key: value for key, value in (item.get("data") or {}).items() if key != "_inngest"}
    moment = int(item.get("ts") or now)
    body = {"data": data, "id": own_id or event_id, "name": name, "ts": moment, "user": item.get("user") or {}}
    if item.get("v"):
        body["v"] = item["v"]
    # A round trip through text, so that expressions see the same cleaned form that is stored.
    return EngineEvent(event_id, name, moment, loads(dumps(body)), dedup)


def _read_seed(seed: str | None) -> tuple[int, bytes] | None:
    millis, _, entropy = (seed or "").partition(",")
    try:
        raw = base64.b64decode(entropy, validate=True)
        moment = int(millis)
    except (ValueError, binascii.Error):
        return None
    return (moment, raw) if len(raw) == 10 and 0 <= moment < 1 << 48 else None

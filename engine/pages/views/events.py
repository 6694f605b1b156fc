"""Pages of events, newest first; one event with its runs; the form that sends one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from aiohttp import web
from sqlalchemy import Connection, Select, func, select

from engine.api.state import state_of
from engine.formats.json_text import loads
from engine.pages.site.rendering import render
from engine.pages.site.request import read_number
from engine.pages.site.text import EXCERPT_LENGTH, lay_out, make_excerpt
from engine.pages.views.run_list import runs_of_event
from engine.rows import Row
from engine.storage.registry import Registry
from engine.storage.tables import events

EVENTS_PER_PAGE = 50
_WINDOW = 5000
_FACTS = [column for column in events.c if column.name != "body"]


@dataclass(frozen=True)
class EventFilter:
    """Events of this very name, or (None) all; `internal` shows the engine's own too; `before` is a `seq`."""

    name: str | None = None
    internal: bool = False
    before: int | None = None


@dataclass(frozen=True)
class EventPage:
    """`before` leads to the next page; a page may be short, even empty, and still have one."""

    rows: list[Row]
    before: int | None


def find_events(connection: Connection, wanted: EventFilter, limit: int = EVENTS_PER_PAGE) -> EventPage:
    """A page: by name a seek in (name, seq), else the newest among at most 5000 rows by `seq`."""
    statement = select(*_FACTS).order_by(events.c.seq.desc()).limit(limit + 1)
    if wanted.before is not None:
        statement = statement.where(events.c.seq < wanted.before)
    lowest = None
    if wanted.name is not None:
        statement = statement.where(events.c.name == wanted.name)
    elif not wanted.internal:
        top = wanted.before or (connection.execute(select(func.max(events.c.seq))).scalar() or 0) + 1
        lowest = top - _WINDOW
        statement = statement.where(events.c.seq >= lowest, events.c.internal.is_(False))
    rows = list(connection.execute(statement))
    if len(rows) > limit:
        return EventPage(rows[:limit], rows[limit - 1].seq)
    more = lowest is not None and _any_below(connection, lowest)
    return EventPage(rows, lowest if more else None)


def read_event(connection: Connection, event_id: str) -> Row | None:
    """The newest event of this id, with the first part of its `text` and the `whole` length."""
    text = func.substr(events.c.body, 1, EXCERPT_LENGTH + 1).label("text")
    statement: Select[Any] = select(*_FACTS, text, func.length(events.c.body).label("whole")).where(
        events.c.id == event_id
    )
    return connection.execute(statement.order_by(events.c.seq.desc()).limit(1)).first()


def _any_below(connection: Connection, seq: int) -> bool:
    return connection.execute(select(events.c.seq).where(events.c.seq < seq).limit(1)).first() is not None


_EMPTY_DATA = "{}"


async def get_events(request: web.Request) -> web.Response:
    name = request.query.get("name", "").strip()
    wanted = EventFilter(name or None, request.query.get("internal") == "1", read_number(request, "before"))
    state = state_of(request)
    page = await state.read(lambda connection: find_events(connection, wanted))
    context = {"page": page, "wanted": wanted, "names": event_names(state.dispatcher.writer.registry)}
    return render(request, "events.html", context)


async def get_event(request: web.Request) -> web.Response:
    event_id = request.match_info["event_id"]

    def query(connection: Connection) -> tuple[Row | None, list[Row]]:
        return read_event(connection, event_id), runs_of_event(connection, event_id)

    state = state_of(request)
    event, runs = await state.read(query)
    if event is None:
        raise web.HTTPNotFound(text="There is no such event. The engine forgets old ones.")
    context = {
        "event": event,
        "body": make_excerpt(event.text, event.whole),
        "runs": runs,
        "registry": state.dispatcher.writer.registry,
    }
    return render(request, "event.html", context)


async def get_new_event(request: web.Request) -> web.Response:
    """The form, filled in with a name or with what an earlier event (`like`) had."""
    state, like = state_of(request), request.query.get("like", "")
    event = await state.read(lambda connection: read_event(connection, like)) if like else None
    name, data, too_long = request.query.get("name", ""), _EMPTY_DATA, False
    if event is not None:
        body = make_excerpt(event.text, event.whole)
        name, too_long = event.name, body.cut
        data = _EMPTY_DATA if body.cut else lay_out(loads(event.text).get("data") or {})
    context = {"name": name, "data": data, "too_long": too_long, "names": event_names(state.dispatcher.writer.registry)}
    return render(request, "new_event.html", context)


def event_names(registry: Registry) -> list[str]:
    """The names that start something, to choose from."""
    return sorted({trigger.name for function in registry.by_slug.values() for trigger in function.event_triggers})

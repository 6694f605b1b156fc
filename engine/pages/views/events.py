"""Pages of events: the list, one event with its runs, and the form that sends one."""

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
from engine.pages.views.run_list import list_event_runs
from engine.rows import Row
from engine.storage.registry import Registry
from engine.storage.tables import events

EVENTS_PER_PAGE = 50
_WINDOW = 5000
_EMPTY_DATA = "{}"
_SHORT_COLUMNS = [column for column in events.c if column.name != "body"]


@dataclass(frozen=True)
class EventFilter:
    """Events of exactly this name (None: all), with the engine's own if `internal`, and a `seq` below `before`."""

    name: str | None = None
    internal: bool = False
    before: int | None = None


@dataclass(frozen=True)
class EventPage:
    """One page; `before` begins the next one, which there may be even after a short or empty page."""

    rows: list[Row]
    before: int | None


def find_events(connection: Connection, event_filter: EventFilter, limit: int = EVENTS_PER_PAGE) -> EventPage:
    """Return a page, newest first.

    Events of a name are found by an index; otherwise the page comes from the newest 5000 rows below `before`.
    """
    statement = select(*_SHORT_COLUMNS).order_by(events.c.seq.desc()).limit(limit + 1)
    if event_filter.before is not None:
        statement = statement.where(events.c.seq < event_filter.before)
    window_start = None
    if event_filter.name is not None:
        statement = statement.where(events.c.name == event_filter.name)
    elif not event_filter.internal:
        top = event_filter.before or (connection.execute(select(func.max(events.c.seq))).scalar() or 0) + 1
        window_start = top - _WINDOW
        statement = statement.where(events.c.seq >= window_start, events.c.internal.is_(False))
    rows = list(connection.execute(statement))
    if len(rows) > limit:
        return EventPage(rows[:limit], rows[limit - 1].seq)
    more = window_start is not None and _any_below(connection, window_start)
    return EventPage(rows, window_start if more else None)


def read_event(connection: Connection, event_id: str) -> Row | None:
    """Return the newest event with this id, with the beginning of its body as `text` and the length as `whole`."""
    text = func.substr(events.c.body, 1, EXCERPT_LENGTH + 1).label("text")
    statement: Select[Any] = select(*_SHORT_COLUMNS, text, func.length(events.c.body).label("whole")).where(
        events.c.id == event_id
    )
    return connection.execute(statement.order_by(events.c.seq.desc()).limit(1)).first()


def _any_below(connection: Connection, seq: int) -> bool:
    return connection.execute(select(events.c.seq).where(events.c.seq < seq).limit(1)).first() is not None


async def get_events(request: web.Request) -> web.Response:
    """The list of events."""
    name = request.query.get("name", "").strip()
    event_filter = EventFilter(name or None, request.query.get("internal") == "1", read_number(request, "before"))
    state = state_of(request)
    page = await state.read(lambda connection: find_events(connection, event_filter))
    context = {"page": page, "event_filter": event_filter, "names": list_event_names(state.dispatcher.writer.registry)}
    return render(request, "events.html", context)


async def get_event(request: web.Request) -> web.Response:
    """One event and the runs that it started."""
    event_id = request.match_info["event_id"]

    def query(connection: Connection) -> tuple[Row | None, list[Row]]:
        return read_event(connection, event_id), list_event_runs(connection, event_id)

    state = state_of(request)
    event, runs = await state.read(query)
    if event is None:
        raise web.HTTPNotFound(text="There is no such event. Old events are deleted.")
    context = {
        "event": event,
        "body": make_excerpt(event.text, event.whole),
        "runs": runs,
        "registry": state.dispatcher.writer.registry,
    }
    return render(request, "event.html", context)


async def get_new_event(request: web.Request) -> web.Response:
    """The form that sends an event, filled in with a `name` or with the content of an earlier event (`like`)."""
    state, like = state_of(request), request.query.get("like", "")
    event = await state.read(lambda connection: read_event(connection, like)) if like else None
    name, data, too_long = request.query.get("name", ""), _EMPTY_DATA, False
    if event is not None:
        body = make_excerpt(event.text, event.whole)
        name, too_long = event.name, body.cut
        data = _EMPTY_DATA if body.cut else lay_out(loads(event.text).get("data") or {})
    context = {
        "name": name,
        "data": data,
        "too_long": too_long,
        "names": list_event_names(state.dispatcher.writer.registry),
    }
    return render(request, "new_event.html", context)


def list_event_names(registry: Registry) -> list[str]:
    """Return the event names that trigger functions."""
    return sorted({trigger.name for function in registry.by_slug.values() for trigger in function.event_triggers})

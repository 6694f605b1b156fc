"""Events; one event with its runs; the form that sends one."""

from aiohttp import web
from sqlalchemy import Connection

from engine.api.state import state_of
from engine.json_text import loads
from engine.pages.asked import number
from engine.pages.event_list import EventFilter, find_events, read_event
from engine.pages.excerpts import excerpt, laid_out
from engine.pages.rendering import render
from engine.pages.run_list import runs_of_event
from engine.registry import Registry
from engine.rows import Row

_EMPTY_DATA = "{}"


async def get_events(request: web.Request) -> web.Response:
    name = request.query.get("name", "").strip()
    wanted = EventFilter(name or None, request.query.get("internal") == "1", number(request, "before"))
    state = state_of(request)
    page = await state.read(lambda connection: find_events(connection, wanted))
    context = {"page": page, "wanted": wanted, "names": event_names(state.core.writer.registry)}
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
        "body": excerpt(event.text, event.whole),
        "runs": runs,
        "registry": state.core.writer.registry,
    }
    return render(request, "event.html", context)


async def get_new_event(request: web.Request) -> web.Response:
    """The form, filled in with a name or with what an earlier event (`like`) had."""
    state, like = state_of(request), request.query.get("like", "")
    event = await state.read(lambda connection: read_event(connection, like)) if like else None
    name, data, too_long = request.query.get("name", ""), _EMPTY_DATA, False
    if event is not None:
        body = excerpt(event.text, event.whole)
        name, too_long = event.name, body.cut
        data = _EMPTY_DATA if body.cut else laid_out(loads(event.text).get("data") or {})
    context = {"name": name, "data": data, "too_long": too_long, "names": event_names(state.core.writer.registry)}
    return render(request, "new_event.html", context)


def event_names(registry: Registry) -> list[str]:
    """The names that start something, to choose from."""
    return sorted({trigger.name for function in registry.by_slug.values() for trigger in function.event_triggers})

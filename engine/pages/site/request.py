"""Request of a page: its query parameters, the time and the functions."""

from aiohttp import web

from engine.api.state import state_of
from engine.formats.clock import parse_time
from engine.formats.ids import is_ulid
from engine.function import Function


def read_now(request: web.Request) -> int:
    """Return the engine's time in milliseconds."""
    return state_of(request).dispatcher.clock.now_ms()


def list_functions(request: web.Request) -> list[Function]:
    """Return all functions by app and name, archived ones last."""
    found = state_of(request).dispatcher.writer.registry.by_id.values()
    return sorted(found, key=lambda function: (function.archived, function.app, function.name))


def read_time(request: web.Request, name: str) -> int | None:
    """Read a time from the query; one without a time zone is UTC.

    Raises:
        HTTPBadRequest: it is not a time.
    """
    text = request.query.get(name, "").strip()
    if not text:
        return None
    try:
        ms = parse_time(text)
    except (ValueError, OverflowError) as error:
        raise web.HTTPBadRequest(text=f"{text!r} is not a time such as 2026-03-02T09:00Z") from error
    if not 0 <= ms < 1 << 48:
        raise web.HTTPBadRequest(text=f"{text!r} is too early or too late")
    return ms


def read_run_cursor(request: web.Request) -> str | None:
    """Read the id before which a page of runs begins; raises HTTPBadRequest when it is not the id of a run."""
    text = request.query.get("before", "")
    if text and not is_ulid(text):
        raise web.HTTPBadRequest(text="before must be the id of a run")
    return text or None


def read_number(request: web.Request, name: str) -> int | None:
    """Read a whole number from the query; raises HTTPBadRequest when it is malformed or has more than 15 digits."""
    text = request.query.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit()) or len(text) > 15:
        raise web.HTTPBadRequest(text=f"{name} must be a whole number")
    return int(text)

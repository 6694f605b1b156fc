"""Read what the pages' handlers need from a request."""

from datetime import UTC, datetime

from aiohttp import web

from engine.api.state import state_of
from engine.formats.clock import to_ms
from engine.formats.ids import is_ulid
from engine.function import Function


def read_now(request: web.Request) -> int:
    return state_of(request).dispatcher.clock.now_ms()


def list_functions(request: web.Request) -> list[Function]:
    """All functions, live ones first, by app and name."""
    found = state_of(request).dispatcher.writer.registry.by_id.values()
    return sorted(found, key=lambda function: (function.archived, function.app, function.name))


def read_moment(request: web.Request, name: str) -> int | None:
    """A time of the query, UTC when it names no zone.

    Raises:
        HTTPBadRequest: it is not one.
    """
    text = request.query.get(name, "").strip()
    if not text:
        return None
    try:
        at = datetime.fromisoformat(text)
        ms = to_ms(at if at.tzinfo else at.replace(tzinfo=UTC))
    except (ValueError, OverflowError) as error:
        raise web.HTTPBadRequest(text=f"{text!r} is not a time such as 2026-03-02T09:00Z") from error
    if not 0 <= ms < 1 << 48:
        raise web.HTTPBadRequest(text=f"{text!r} is too far away")
    return ms


def read_run_cursor(request: web.Request) -> str | None:
    """Raises HTTPBadRequest when it is not a run's id."""
    text = request.query.get("before", "")
    if text and not is_ulid(text):
        raise web.HTTPBadRequest(text="the address has a wrong place in the list")
    return text or None


def read_number(request: web.Request, name: str) -> int | None:
    """A whole number of the query; raises HTTPBadRequest when it is not one that a row can have."""
    text = request.query.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit()) or len(text) > 15:
        raise web.HTTPBadRequest(text=f"{name} must be a whole number")
    return int(text)

"""Raw values as plain text, whole, where a page shows only an excerpt."""

from typing import Any

from aiohttp import web
from sqlalchemy import Select, select

from engine.api.state import state_of
from engine.storage.tables import attempts, events, functions, runs, steps


async def get_run_output(request: web.Request) -> web.Response:
    """The output of a run."""
    return await _send_text(request, select(runs.c.output).where(runs.c.id == request.match_info["run_id"]))


async def get_run_events(request: web.Request) -> web.Response:
    """The events that started a run."""
    return await _send_text(request, select(runs.c.events).where(runs.c.id == request.match_info["run_id"]))


async def get_step_output(request: web.Request) -> web.Response:
    """The memo of a step."""
    keys = request.match_info
    mine = (steps.c.run_id == keys["run_id"], steps.c.step_id == keys["step_id"])
    return await _send_text(request, select(steps.c.memo).where(*mine))


async def get_errors(request: web.Request) -> web.Response:
    """The errors of a run's failed attempts, one per line."""
    statement = select(attempts.c.error).where(attempts.c.run_id == request.match_info["run_id"])
    return await _send_text(request, statement.order_by(attempts.c.seq).limit(2000))


async def get_event(request: web.Request) -> web.Response:
    """The body of an event."""
    statement = select(events.c.body).where(events.c.id == request.match_info["event_id"])
    return await _send_text(request, statement.order_by(events.c.seq.desc()).limit(1))


async def get_function(request: web.Request) -> web.Response:
    """The configuration of a function."""
    return await _send_text(
        request, select(functions.c.config).where(functions.c.id == request.match_info["function_id"])
    )


async def _send_text(request: web.Request, statement: Select[Any]) -> web.Response:
    found = await state_of(request).read(lambda connection: connection.execute(statement).scalars().all())
    texts = [text for text in found if text is not None]
    if not texts:
        raise web.HTTPNotFound(text="There is nothing here.")
    return web.Response(text="\n".join(texts), content_type="text/plain")

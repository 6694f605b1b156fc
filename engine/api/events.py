"""POST /e/{key}: taking in events."""

from aiohttp import web

from engine.api.guard import KIND_HEADER
from engine.api.state import reply, state_of
from engine.intake import read_events
from engine.signing import matches_any


async def post_events(request: web.Request) -> web.Response:
    """200 with the ids once the events are stored; 400 with the ids before the first bad one."""
    state = state_of(request)
    if state.signing_keys:
        if not state.event_keys:
            return reply({"status": 503, "error": "this engine has no event keys"}, 503)
        if not matches_any(state.event_keys, request.match_info["key"]):
            return reply({"error": "Event key not found", "message": "", "status": 401}, 401)
    core = state.core
    seed = request.headers.get("x-inngest-event-id-seed")
    intake = read_events(await request.read(), seed, core.clock.now_ms(), core.settings)
    calls = await core.send(intake.events)
    try:
        return await _answer(request, [event.id for event in intake.events], intake.error)
    finally:
        core.go_out(calls)


async def _answer(request: web.Request, ids: list[str], error: str | None) -> web.Response:
    """Answer at once rather than on return, so that what follows comes after it."""
    if error is not None:
        response = reply({"error": error, "ids": ids, "status": 400}, 400)
    else:
        response = reply({"ids": ids or [""], "status": 200})
    response.headers[KIND_HEADER] = state_of(request).kind
    await response.prepare(request)
    await response.write_eof()
    return response

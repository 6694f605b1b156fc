"""POST /e/{key}: taking in events."""

from aiohttp import web

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
    await core.send(intake.events)
    ids = [event.id for event in intake.events]
    if intake.error is not None:
        return reply({"error": intake.error, "ids": ids, "status": 400}, 400)
    return reply({"ids": ids or [""], "status": 200})

"""POST /fn/register: an app tells what functions it has."""

from aiohttp import web

from engine.api.state import reply, state_of
from engine.json_text import loads
from engine.registration.sync import RefusedError, read_request, sync


async def post_register(request: web.Request) -> web.Response:
    """`{ok, modified, sync_id, app_id}`, or 400 with every reason; what was registered before stays then."""
    state = state_of(request)
    expected = request.headers.get("x-inngest-expected-server-kind")
    if expected and expected != state.kind:
        return _refuse(f"the app expects a server of kind {expected}, this one is {state.kind}")
    try:
        registration = read_request(loads(await request.read()))
    except RefusedError as error:
        return _refuse(str(error))
    except (ValueError, RecursionError) as error:
        return _refuse(f"the registration is not JSON: {error}")
    try:
        synced = await state.core.writer.submit(lambda tx: sync(tx, registration), alone=True)
    except RefusedError as error:
        return _refuse(str(error))
    return reply({"app_id": synced.app_id, "modified": synced.modified, "ok": True, "sync_id": synced.sync_id})


def _refuse(message: str) -> web.Response:
    return reply({"data": None, "error": message, "status": 400}, 400)

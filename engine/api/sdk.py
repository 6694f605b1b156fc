"""What SDKs ask: register an app's functions, send events, fetch a run's state that is too large for a request."""

from __future__ import annotations

from collections.abc import Callable

from aiohttp import web
from sqlalchemy import Connection, select

from engine.api.access import KIND_HEADER
from engine.api.state import json_reply, state_of
from engine.calls.request import memos_text
from engine.event import read_events
from engine.formats.json_text import loads
from engine.formats.signing import matches_any_key
from engine.history.runs import find_run
from engine.registration.sync import RegistrationRefusedError, read_registration, sync_app
from engine.rows import Row
from engine.runs.lifecycle import ENDED
from engine.storage.tables import steps


async def post_register(request: web.Request) -> web.Response:
    """`{ok, modified, sync_id, app_id}`, or 400 with every reason; what was registered before stays then."""
    state = state_of(request)
    expected = request.headers.get("x-inngest-expected-server-kind")
    if expected and expected != state.kind:
        return _refuse_registration(f"the app expects a server of kind {expected}, this one is {state.kind}")
    try:
        registration = read_registration(loads(await request.read()))
    except RegistrationRefusedError as error:
        return _refuse_registration(str(error))
    except (ValueError, RecursionError) as error:
        return _refuse_registration(f"the registration is not JSON: {error}")
    try:
        synced = await state.dispatcher.writer.submit(lambda tx: sync_app(tx, registration), alone=True)
    except RegistrationRefusedError as error:
        return _refuse_registration(str(error))
    return json_reply({"app_id": synced.app_id, "modified": synced.modified, "ok": True, "sync_id": synced.sync_id})


def _refuse_registration(message: str) -> web.Response:
    return json_reply({"data": None, "error": message, "status": 400}, 400)


async def post_events(request: web.Request) -> web.Response:
    """200 with the ids once the events are stored; 400 with the ids before the first bad one."""
    state = state_of(request)
    if state.signing_keys:
        if not state.event_keys:
            return json_reply({"status": 503, "error": "this engine has no event keys"}, 503)
        if not matches_any_key(state.event_keys, request.match_info["key"]):
            return json_reply({"error": "Event key not found", "message": "", "status": 401}, 401)
    core = state.dispatcher
    seed = request.headers.get("x-inngest-event-id-seed")
    intake = read_events(await request.read(), seed, core.clock.now_ms(), core.settings)
    calls = await core.send(intake.events)
    try:
        return await _answer_stored(request, [event.id for event in intake.events], intake.error)
    finally:
        core.go_out(calls)


async def _answer_stored(request: web.Request, ids: list[str], error: str | None) -> web.Response:
    """Answer at once rather than on return, so that what follows comes after it."""
    if error is not None:
        response = json_reply({"error": error, "ids": ids, "status": 400}, 400)
    else:
        response = json_reply({"ids": ids or [""], "status": 200})
    response.headers[KIND_HEADER] = state_of(request).kind
    await response.prepare(request)
    await response.write_eof()
    return response


_GONE = "the state of this run is gone: it has ended"


async def get_batch(request: web.Request) -> web.Response:
    """The events of a run that has not ended, as an array."""
    return await _answer_run_text(request, lambda connection, run: str(run.events))


async def get_actions(request: web.Request) -> web.Response:
    """The memos of a run that has not ended, by hashed step id."""
    return await _answer_run_text(request, _memos_of)


async def _answer_run_text(request: web.Request, text_of: Callable[[Connection, Row], str]) -> web.Response:
    run_id = request.match_info["run_id"]

    def query(connection: Connection) -> str | None:
        run = find_run(connection, run_id)
        return None if run is None or run.status in ENDED else text_of(connection, run)

    text = await state_of(request).read(query)
    if text is None:
        return json_reply({"error": _GONE, "status": 410}, 410)
    return web.Response(body=text.encode(), content_type="application/json")


def _memos_of(connection: Connection, run: Row) -> str:
    done = select(steps.c.step_id, steps.c.memo).where(steps.c.run_id == run.id, steps.c.position.is_not(None))
    return memos_text([(row.step_id, row.memo) for row in connection.execute(done)])

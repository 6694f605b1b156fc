"""Endpoints for SDKs: register an app, send events, fetch the state of a run that is too large for a call."""

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
from engine.storage.tables import ENDED, steps

_GONE = "the state of this run is gone: it has ended"


async def post_register(request: web.Request) -> web.Response:
    """`POST /fn/register`: store an app's functions, or refuse them all with 400 and every reason."""
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
        synced = await state.dispatcher.writer.submit(lambda tx: sync_app(tx, registration), changes_registry=True)
    except RegistrationRefusedError as error:
        return _refuse_registration(str(error))
    return json_reply({"app_id": synced.app_id, "modified": synced.modified, "ok": True, "sync_id": synced.sync_id})


def _refuse_registration(message: str) -> web.Response:
    return json_reply({"data": None, "error": message, "status": 400}, 400)


async def post_events(request: web.Request) -> web.Response:
    """`POST /e/{key}`: store events and answer with their ids; 400 when one is bad, with the ids of those before it."""
    state = state_of(request)
    if state.signing_keys:
        if not state.event_keys:
            return json_reply({"status": 503, "error": "this engine has no event keys"}, 503)
        if not matches_any_key(state.event_keys, request.match_info["key"]):
            return json_reply({"error": "Event key not found", "message": "", "status": 401}, 401)
    dispatcher = state.dispatcher
    seed = request.headers.get("x-inngest-event-id-seed")
    intake = read_events(await request.read(), seed, dispatcher.clock.now_ms(), dispatcher.settings)
    calls = await dispatcher.send(intake.events)
    try:
        return await _send_answer(request, [event.id for event in intake.events], intake.error)
    finally:
        dispatcher.start_calls(calls)


async def _send_answer(request: web.Request, ids: list[str], error: str | None) -> web.Response:
    """Send the answer here rather than by returning it, so that it precedes the calls that the events start."""
    if error is not None:
        response = json_reply({"error": error, "ids": ids, "status": 400}, 400)
    else:
        response = json_reply({"ids": ids or [""], "status": 200})
    response.headers[KIND_HEADER] = state_of(request).kind
    await response.prepare(request)
    await response.write_eof()
    return response


async def get_batch(request: web.Request) -> web.Response:
    """`GET /v0/runs/{run_id}/batch`: the events of a run that has not ended, as an array."""
    return await _answer_run_text(request, lambda connection, run: str(run.events))


async def get_actions(request: web.Request) -> web.Response:
    """`GET /v0/runs/{run_id}/actions`: the memos of a run that has not ended, by hashed step id."""
    return await _answer_run_text(request, _read_memos)


async def _answer_run_text(request: web.Request, text_of: Callable[[Connection, Row], str]) -> web.Response:
    run_id = request.match_info["run_id"]

    def query(connection: Connection) -> str | None:
        run = find_run(connection, run_id)
        return None if run is None or run.status in ENDED else text_of(connection, run)

    text = await state_of(request).read(query)
    if text is None:
        return json_reply({"error": _GONE, "status": 410}, 410)
    return web.Response(body=text.encode(), content_type="application/json")


def _read_memos(connection: Connection, run: Row) -> str:
    done = select(steps.c.step_id, steps.c.memo).where(steps.c.run_id == run.id, steps.c.position.is_not(None))
    return memos_text([(row.step_id, row.memo) for row in connection.execute(done)])

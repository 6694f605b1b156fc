"""Actions that start runs: invoke a function, run an earlier run again."""

from typing import Any

from aiohttp import web

from engine.api.state import json_reply, state_of
from engine.formats.clock import rfc3339
from engine.formats.json_text import loads
from engine.function import Function
from engine.runs.start import GONE, SKIPPED, UNKNOWN, RerunRefusal, invoke_function, rerun_run

_REFUSALS = {UNKNOWN: 404, GONE: 501, SKIPPED: 409}


async def post_invoke(request: web.Request) -> web.Response:
    """`POST /v2/apps/{app}/functions/{function}/invoke`: start a run with the `data` of the body."""
    app, name = request.match_info["app"], request.match_info["function"]
    functions = state_of(request).dispatcher.writer.registry.of_app(app)
    function = next((f for f in functions if f.public_id == name), None)
    if function is None:
        return _errors(404, "not_found", "Function not found")
    started = await _invoke(request, function)
    if started is None:
        return _errors(400, "invalid_request", "the body must be an object whose data is an object")
    if started[1] is None:
        return _errors(409, "run_skipped", "the function is a singleton and another run of it is under way")
    return _run_started(request, started[1])


async def post_bare_invoke(request: web.Request) -> web.Response:
    """`POST /invoke/{slug}`: start a run with the `data` of the body; the answer's `id` is that of the event."""
    function = state_of(request).dispatcher.writer.registry.by_slug.get(request.match_info["slug"])
    if function is None:
        return json_reply({"error": "function not found", "status": 404}, 404)
    started = await _invoke(request, function)
    if started is None:
        return json_reply({"error": "the body must be an object whose data is an object", "status": 400}, 400)
    return json_reply({"id": started[0], "status": 200})


async def post_rerun(request: web.Request) -> web.Response:
    """`POST /v2/runs/{run_id}/rerun`: start a new run of the same function with the same events."""
    run_id = request.match_info["run_id"]
    started = await state_of(request).dispatcher.writer.submit(lambda tx: rerun_run(tx, run_id))
    if isinstance(started, RerunRefusal):
        return _errors(_REFUSALS[started.code], started.code, f"the run cannot be run again: {started.reason}")
    return _run_started(request, started)


async def _invoke(request: web.Request, function: Function) -> tuple[str, str | None] | None:
    try:
        body = loads(await request.read() or b"{}")
    except (ValueError, RecursionError):
        return None
    data = body.get("data") or {} if isinstance(body, dict) else None
    if not isinstance(data, dict):
        return None
    checked: dict[str, Any] = data
    return await state_of(request).dispatcher.writer.submit(lambda tx: invoke_function(tx, function, checked))


def _run_started(request: web.Request, run_id: str) -> web.Response:
    now = rfc3339(state_of(request).dispatcher.clock.now_ms())
    return json_reply({"data": {"runId": run_id}, "metadata": {"fetchedAt": now}})


def _errors(status: int, code: str, message: str) -> web.Response:
    return json_reply({"errors": [{"code": code, "message": message}]}, status)

"""API `/v2` (also `/api/v2`): runs, apps and functions, as the newer API of the real server shows them."""

from collections.abc import Callable
from typing import Any

from aiohttp import web
from sqlalchemy import Connection

from engine.api.state import json_reply, state_of
from engine.formats.clock import parse_time, rfc3339
from engine.function import Function
from engine.history.runs import RunQuery, find_late_runs, find_run, list_missed_ticks, list_runs
from engine.history.trace import listed_output, plain_output, read_run_trace
from engine.rows import Row
from engine.runs.lifecycle import cancel_running
from engine.storage.registry import Registry
from engine.storage.tables import CANCELLED, RUN_STATUSES

_MAX_LIMIT, _DEFAULT_LIMIT = 100, 20
_TIME_FIELDS = {"queuedat": "queuedAt", "startedat": "startedAt", "endedat": "endedAt"}


async def get_health(request: web.Request) -> web.Response:
    """`GET /v2/health`: answers as long as the engine runs."""
    return json_reply({"data": {"status": "ok"}, "metadata": _metadata(request)})


async def get_runs(request: web.Request) -> web.Response:
    """`GET /v2/runs`: all runs, or those of apps (`appId`) or of some of their functions (`functionId`)."""
    apps, names = request.query.getall("appId", []), request.query.getall("functionId", [])
    if names and not apps:
        return _refuse("appId is required when filtering by functionId")
    matches = None if not apps else lambda f: f.app in apps and (not names or f.public_id in names)
    return await _list(request, matches)


async def get_function_runs(request: web.Request) -> web.Response:
    """`GET /v2/apps/{app}/functions/{function}/runs`: the runs of a function."""
    app, name = request.match_info["app"], request.match_info["function"]
    return await _list(request, lambda f: f.app == app and f.public_id == name)


async def get_event_runs(request: web.Request) -> web.Response:
    """`GET /v2/events/{event_id}/runs`: the runs that an event started."""
    return await _list(request, None, event_id=request.match_info["event_id"])


async def get_run(request: web.Request) -> web.Response:
    """`GET /v2/runs/{run_id}`: one run."""
    row = await _find(request)
    if row is None:
        return _not_found("Run not found")
    with_output = request.query.get("includeOutput") == "true"
    late = await state_of(request).read(lambda connection: find_late_runs(connection, [row.id] if row.cron else []))
    data = _run(row, state_of(request).dispatcher.writer.registry, late.get(row.id), with_output=False)
    if with_output and (output := plain_output(row.output)) is not None:
        data["output"] = output
    return json_reply({"data": data, "metadata": _metadata(request)})


async def get_trace(request: web.Request) -> web.Response:
    """`GET /v2/runs/{run_id}/trace`: a run as a tree of spans."""
    row = await _find(request)
    if row is None:
        return _not_found("Trace not found")
    with_output = request.query.get("includeOutput") == "true"
    root = await state_of(request).read(lambda connection: read_run_trace(connection, row, with_output=with_output))
    return json_reply({"data": {"rootSpan": root, "runId": row.id}, "metadata": _metadata(request)})


async def post_cancel(request: web.Request) -> web.Response:
    """`POST /v2/runs/{run_id}/cancel`: cancel a run; 409 when it has ended."""
    found = await _find(request)
    if found is None:
        return _not_found("Run not found")
    run_id = found.id
    if not await state_of(request).dispatcher.writer.submit(lambda tx: cancel_running(tx, run_id)):
        row = await _find(request)
        if row is not None and row.status == CANCELLED:
            return _errors(409, "run_already_cancelled", "Run is already cancelled")
        return _errors(409, "run_already_ended", "Cannot cancel an ended run")
    return json_reply({"data": {"runId": run_id}, "metadata": _metadata(request)})


async def get_apps(request: web.Request) -> web.Response:
    """`GET /v2/apps`: all apps."""
    registry = state_of(request).dispatcher.writer.registry
    names = sorted({f.app for f in registry.by_id.values()})
    data = [_app(registry, name) for name in names]
    return json_reply({"data": data, "metadata": _metadata(request), "page": {"limit": _MAX_LIMIT}})


async def get_app(request: web.Request) -> web.Response:
    """`GET /v2/apps/{app}`: one app."""
    registry, name = state_of(request).dispatcher.writer.registry, request.match_info["app"]
    if not any(f.app == name for f in registry.by_id.values()):
        return _not_found("App not found")
    return json_reply({"data": _app(registry, name), "metadata": _metadata(request)})


async def get_functions(request: web.Request) -> web.Response:
    """`GET /v2/apps/{app}/functions`: the functions of an app."""
    registry = state_of(request).dispatcher.writer.registry
    data = [_function(f) for f in sorted(registry.of_app(request.match_info["app"]), key=lambda f: f.slug)]
    return json_reply({"data": data, "metadata": _metadata(request), "page": {"limit": _MAX_LIMIT}})


async def get_missed(request: web.Request) -> web.Response:
    """`GET /v2/apps/{app}/functions/{function}/missed`: ticks of a function that ran late or were skipped."""
    app, name = request.match_info["app"], request.match_info["function"]
    state = state_of(request)
    found = next(
        (f for f in state.dispatcher.writer.registry.by_id.values() if f.app == app and f.public_id == name), None
    )
    if found is None:
        return _not_found("Function not found")
    rows = await state.read(lambda connection: list_missed_ticks(connection, _MAX_LIMIT, found.id))
    data = [_missed(row) for row in rows]
    return json_reply({"data": data, "metadata": _metadata(request), "page": {"limit": _MAX_LIMIT}})


async def _list(
    request: web.Request, matches: Callable[[Function], bool] | None, *, event_id: str | None = None
) -> web.Response:
    state = state_of(request)
    registry = state.dispatcher.writer.registry
    try:
        query = _read_query(request, registry, matches, event_id)
        rows, cursor, late = await state.read(lambda connection: _read_list(connection, query))
    except (ValueError, TypeError) as error:
        return _refuse(str(error) or "the request has a wrong parameter")
    page: dict[str, Any] = {"limit": query.limit}
    if cursor is not None:
        page |= {"cursor": cursor, "hasMore": True}
    body: dict[str, Any] = {"metadata": _metadata(request), "page": page}
    if rows:
        body["data"] = [_run(row, registry, late.get(row.id), with_output=query.with_output) for row in rows]
    return json_reply(body)


def _read_list(connection: Connection, query: RunQuery) -> tuple[list[Row], str | None, dict[str, int]]:
    rows, cursor = list_runs(connection, query)
    return rows, cursor, find_late_runs(connection, [row.id for row in rows if row.cron is not None])


def _read_query(
    request: web.Request, registry: Registry, matches: Callable[[Function], bool] | None, event_id: str | None
) -> RunQuery:
    query = request.query
    limit = int(query.get("limit") or _DEFAULT_LIMIT)
    if not 1 <= limit <= _MAX_LIMIT:
        raise ValueError("Limit must be at least 1" if limit < 1 else f"Limit cannot exceed {_MAX_LIMIT}")
    statuses = [status.strip().upper() for status in query.getall("status", [])]
    if not set(RUN_STATUSES).issuperset(statuses):
        raise ValueError("Status is invalid")
    field = _TIME_FIELDS.get((query.get("timeField") or "queuedAt").replace("_", "").lower())
    order = (query.get("order") or "DESC").upper()
    if field is None or order not in {"ASC", "DESC"}:
        raise ValueError("timeField is invalid" if field is None else "order is invalid")
    return RunQuery(
        limit,
        function_ids=None if matches is None else [f.id for f in registry.by_id.values() if matches(f)],
        event_id=event_id,
        statuses=statuses,
        time_field=field,
        since=_read_time(query.get("from")),
        until=_read_time(query.get("until")),
        ascending=order == "ASC",
        cursor=query.get("cursor"),
        with_output=query.get("includeOutput") == "true",
    )


async def _find(request: web.Request) -> Row | None:
    run_id = request.match_info["run_id"]
    return await state_of(request).read(lambda connection: find_run(connection, run_id))


def _run(row: Row, registry: Registry, was_due: int | None, *, with_output: bool) -> dict[str, Any]:
    function = registry.by_id[row.function_id]
    trigger: dict[str, Any] = {"eventIds": [row.event_id]}
    if row.batch_id is not None:
        trigger |= {"batchId": row.batch_id, "isBatch": True}
    if row.cron is not None:
        trigger["cronSchedule"] = row.cron
    if was_due is not None:
        trigger |= {"late": True, "wasDue": rfc3339(was_due)}
    shown: dict[str, Any] = {
        "app": {"id": function.app},
        "function": {"id": function.public_id, "name": function.name},
        "id": row.id,
        "queuedAt": rfc3339(row.queued_at),
        "status": row.status,
        "trigger": trigger,
    }
    if row.started_at is not None:
        shown["startedAt"] = rfc3339(row.started_at)
    if row.ended_at is not None:
        shown["endedAt"] = rfc3339(row.ended_at)
        shown["durationMs"] = str(row.ended_at - (row.started_at or row.queued_at))
    if with_output and (output := listed_output(row.status, row.output)) is not None:
        shown["output"] = output
    return shown


def _app(registry: Registry, name: str) -> dict[str, Any]:
    live = list(registry.of_app(name))
    return {"functionCount": len(live), "id": name, "isArchived": not live, "method": "SERVE", "name": name}


def _function(function: Function) -> dict[str, Any]:
    events = [
        {"type": "EVENT", "value": t.name, **({"if": t.expression.text} if t.expression else {})}
        for t in function.event_triggers
    ]
    return {
        "app": {"id": function.app, "name": function.app},
        "id": function.public_id,
        "isArchived": function.archived,
        "isPaused": False,
        "name": function.name,
        "slug": function.public_id,
        "triggers": [*events, *({"type": "CRON", "value": t.text} for t in function.cron_triggers)],
    }


def _missed(row: Row) -> dict[str, Any]:
    shown = {
        "cronSchedule": row.cron,
        "outcome": "SKIPPED" if row.run_id is None else "LATE",
        "firstDue": rfc3339(row.first_at),
        "lastDue": rfc3339(row.last_at),
        "ticks": row.ticks,
        "notedAt": rfc3339(row.noted_at),
    }
    return shown if row.run_id is None else {**shown, "runId": row.run_id}


def _metadata(request: web.Request) -> dict[str, Any]:
    return {"fetchedAt": rfc3339(state_of(request).dispatcher.clock.now_ms())}


def _read_time(text: str | None) -> int | None:
    return parse_time(text) if text else None


def _errors(status: int, code: str, message: str) -> web.Response:
    return json_reply({"errors": [{"code": code, "message": message}]}, status)


def _refuse(message: str) -> web.Response:
    return _errors(400, "invalid_field_format", message)


def _not_found(message: str) -> web.Response:
    return _errors(404, "not_found", message)

"""API `/v1`: events, their runs, single runs."""

from typing import Any

from aiohttp import web
from sqlalchemy import Connection, select

from engine.api.state import json_reply, state_of
from engine.formats.clock import parse_time, rfc3339
from engine.formats.json_text import loads
from engine.history.runs import RunQuery, find_event, find_run, list_runs
from engine.rows import Row
from engine.runs.lifecycle import cancel_running
from engine.storage.registry import Registry
from engine.storage.tables import events

_STATUS_NAMES = {
    "QUEUED": "Running",
    "RUNNING": "Running",
    "COMPLETED": "Completed",
    "FAILED": "Failed",
    "CANCELLED": "Cancelled",
}
_MAX_LIMIT = 100


async def get_events(request: web.Request) -> web.Response:
    """`GET /v1/events`: events that clients sent, newest first, without the engine's own."""
    name, cursor = request.query.get("name"), request.query.get("cursor")
    try:
        limit = min(max(int(request.query.get("limit", 20)), 1), _MAX_LIMIT)
        after, before = (_read_time(request, key) for key in ("received_after", "received_before"))
    except ValueError as error:
        return problem_reply(400, str(error))

    def query(connection: Connection) -> list[Row]:
        statement = select(events).where(events.c.internal.is_(False)).order_by(events.c.seq.desc()).limit(limit)
        if name:
            statement = statement.where(events.c.name == name)
        if cursor:
            place = select(events.c.seq).where(events.c.id == cursor).order_by(events.c.seq).limit(1).scalar_subquery()
            statement = statement.where(events.c.seq < place)
        if after is not None:
            statement = statement.where(events.c.received_at > after)
        if before is not None:
            statement = statement.where(events.c.received_at < before)
        return list(connection.execute(statement))

    rows = await state_of(request).read(query)
    return data_reply(request, [_event(row) for row in rows])


async def get_event(request: web.Request) -> web.Response:
    """`GET /v1/events/{event_id}`: one event."""
    event_id = request.match_info["event_id"]
    row = await state_of(request).read(lambda connection: find_event(connection, event_id))
    return problem_reply(404, "event not found") if row is None else data_reply(request, _event(row))


async def get_event_runs(request: web.Request) -> web.Response:
    """`GET /v1/events/{event_id}/runs`: the runs that an event started."""
    query = RunQuery(_MAX_LIMIT, event_id=request.match_info["event_id"], ascending=True, with_output=True)
    rows, _ = await state_of(request).read(lambda connection: list_runs(connection, query))
    return data_reply(request, [_run(row, state_of(request).dispatcher.writer.registry) for row in rows])


async def get_run(request: web.Request) -> web.Response:
    """`GET /v1/runs/{run_id}`: one run."""
    run_id = request.match_info["run_id"]
    row = await state_of(request).read(lambda connection: find_run(connection, run_id))
    if row is None:
        return problem_reply(404, "run not found")
    return data_reply(request, _run(row, state_of(request).dispatcher.writer.registry))


async def delete_run(request: web.Request) -> web.Response:
    """`DELETE /v1/runs/{run_id}`: cancel a run; one that has ended stays as it is."""
    run_id = request.match_info["run_id"]
    if await state_of(request).read(lambda connection: find_run(connection, run_id)) is None:
        return problem_reply(404, "run not found")
    await state_of(request).dispatcher.writer.submit(lambda tx: cancel_running(tx, run_id))
    return web.Response(status=200)


async def get_app_functions(request: web.Request) -> web.Response:
    """`GET /v1/apps/{app}/functions`: the functions of an app, as a bare array."""
    functions = state_of(request).dispatcher.writer.registry.of_app(request.match_info["app"])
    return json_reply(
        [{"app": f.app, "id": f.id, "name": f.name, "slug": f.slug, "version": f.version} for f in functions]
    )


def data_reply(request: web.Request, data: Any) -> web.Response:
    """Make a response with `data` and the metadata of `/v1`."""
    now = rfc3339(state_of(request).dispatcher.clock.now_ms())
    return json_reply({"data": data, "metadata": {"cached_until": None, "fetched_at": now}})


def problem_reply(status: int, message: str) -> web.Response:
    """Make an error response."""
    return json_reply({"error": message, "status": status}, status)


def _read_time(request: web.Request, name: str) -> int | None:
    text = request.query.get(name)
    return parse_time(text) if text else None


def _event(row: Row) -> dict[str, Any]:
    return {**loads(row.body), "internal_id": row.id, "received_at": rfc3339(row.received_at)}


def _run(row: Row, registry: Registry) -> dict[str, Any]:
    shown = {
        "batch_id": row.batch_id,
        "cron": row.cron,
        "ended_at": None if row.ended_at is None else rfc3339(row.ended_at),
        "event_id": row.event_id,
        "function_id": row.function_id,
        "function_version": row.function_version,
        "output": None if row.output is None else loads(row.output),
        "run_id": row.id,
        "run_started_at": rfc3339(row.started_at or row.queued_at),
        "status": _STATUS_NAMES[row.status],
    }
    return {key: value for key, value in shown.items() if value is not None or key not in {"batch_id", "cron"}}

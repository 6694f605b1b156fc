"""/v1: events, their runs, single runs."""

from datetime import datetime
from typing import Any

from aiohttp import web
from sqlalchemy import Connection, select

from engine.api.state import json_reply, state_of
from engine.formats.clock import rfc3339, to_ms
from engine.formats.json_text import loads
from engine.history.runs import RunQuery, find_event, find_run, list_runs
from engine.rows import Row
from engine.runs.lifecycle import cancel_run, lock_run
from engine.storage.registry import Registry
from engine.storage.tables import events
from engine.storage.transaction import Transaction

_SPOKEN = {
    "QUEUED": "Running",
    "RUNNING": "Running",
    "COMPLETED": "Completed",
    "FAILED": "Failed",
    "CANCELLED": "Cancelled",
}
_MOST = 100


async def get_events(request: web.Request) -> web.Response:
    """Events that were sent, newest first; the engine's own are left out."""
    name, cursor = request.query.get("name"), request.query.get("cursor")
    try:
        limit = min(max(int(request.query.get("limit", 20)), 1), _MOST)
        after, before = (_moment(request.query.get(key)) for key in ("received_after", "received_before"))
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
    event_id = request.match_info["event_id"]
    row = await state_of(request).read(lambda connection: find_event(connection, event_id))
    return problem_reply(404, "event not found") if row is None else data_reply(request, _event(row))


async def get_event_runs(request: web.Request) -> web.Response:
    query = RunQuery(_MOST, event_id=request.match_info["event_id"], ascending=True, with_output=True)
    rows, _ = await state_of(request).read(lambda connection: list_runs(connection, query))
    return data_reply(request, [_run(row, state_of(request).dispatcher.writer.registry) for row in rows])


async def get_run(request: web.Request) -> web.Response:
    run_id = request.match_info["run_id"]
    row = await state_of(request).read(lambda connection: find_run(connection, run_id))
    if row is None:
        return problem_reply(404, "run not found")
    return data_reply(request, _run(row, state_of(request).dispatcher.writer.registry))


async def delete_run(request: web.Request) -> web.Response:
    """Cancel a run; one that has ended stays as it is."""
    run_id = request.match_info["run_id"]
    if await state_of(request).read(lambda connection: find_run(connection, run_id)) is None:
        return problem_reply(404, "run not found")

    def stop(tx: Transaction) -> None:
        if (run := lock_run(tx, run_id)) is not None:
            cancel_run(tx, run)

    await state_of(request).dispatcher.writer.submit(stop)
    return web.Response(status=200)


async def get_app_functions(request: web.Request) -> web.Response:
    """A bare array."""
    functions = state_of(request).dispatcher.writer.registry.of_app(request.match_info["app"])
    return json_reply(
        [{"app": f.app, "id": f.id, "name": f.name, "slug": f.slug, "version": f.version} for f in functions]
    )


def data_reply(request: web.Request, data: Any) -> web.Response:
    now = rfc3339(state_of(request).dispatcher.clock.now_ms())
    return json_reply({"data": data, "metadata": {"cached_until": None, "fetched_at": now}})


def problem_reply(status: int, message: str) -> web.Response:
    return json_reply({"error": message, "status": status}, status)


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
        "status": _SPOKEN[row.status],
    }
    return {key: value for key, value in shown.items() if value is not None or key not in {"batch_id", "cron"}}


def _moment(text: str | None) -> int | None:
    return None if not text else to_ms(datetime.fromisoformat(text))

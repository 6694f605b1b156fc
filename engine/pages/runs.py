"""Runs with filters; one run."""

from typing import Any
from urllib.parse import urlencode

from aiohttp import web
from sqlalchemy import Connection

from engine.api.state import state_of
from engine.function import Function
from engine.history.missed import late_runs
from engine.json_text import Json, loads
from engine.pages.asked import known_functions, moment, now_of, number, run_cursor
from engine.pages.excerpts import Excerpt, error_laid_out, excerpt, laid_out
from engine.pages.rendering import render
from engine.pages.run_detail import STEPS, RunDetail, read_run
from engine.pages.run_list import RunFilter, find_runs
from engine.pages.waterfall import lines_of
from engine.pages.words import STATUSES
from engine.rows import Row
from engine.runs.state import ENDED


async def get_runs(request: web.Request) -> web.Response:
    state, functions = state_of(request), known_functions(request)
    app, chosen = request.query.get("app", ""), request.query.get("function", "")
    status = request.query.get("status", "")
    if status and status not in STATUSES:
        raise web.HTTPBadRequest(text="There is no such status.")
    matching = [f.id for f in functions if app in {"", f.app} and chosen in {"", f.id}]
    wanted = RunFilter(
        functions=matching if len(matching) < len(functions) else None,
        status=status or None,
        since=moment(request, "from"),
        until=moment(request, "until"),
        before=run_cursor(request),
    )
    known = [function.id for function in functions]
    rows, before = await state.read(lambda connection: find_runs(connection, wanted, known))
    asked = {name: value for name, value in request.query.items() if value and name != "before"}
    context = {
        "runs": rows,
        "older": None if before is None else urlencode({**asked, "before": before}),
        "newest": urlencode(asked),
        "filtered": bool(asked),
        "wanted": wanted,
        "app": app,
        "chosen": chosen,
        "apps": sorted({function.app for function in functions}),
        "functions": functions,
        "statuses": STATUSES,
        "registry": state.core.writer.registry,
    }
    return render(request, "runs.html", context)


async def get_run(request: web.Request) -> web.Response:
    state, run_id = state_of(request), request.match_info["run_id"]
    first = number(request, "first") or 0

    def query(connection: Connection) -> tuple[RunDetail | None, dict[str, int]]:
        return read_run(connection, run_id, first), late_runs(connection, [run_id])

    detail, late = await state.read(query)
    if detail is None:
        raise web.HTTPNotFound(text="There is no such run. The engine forgets old ones.")
    run, now = detail.run, now_of(request)
    function = state.core.writer.registry.by_id.get(run.function_id)
    context = {
        "run": run,
        "detail": detail,
        "lines": lines_of(detail, now),
        "now": now,
        "over": run.status in ENDED,
        "output": None if run.output_text is None else _output(run),
        "events": excerpt(run.events_text, run.events_whole, layout=_events_laid_out),
        "function": function,
        "invoked_by": None if function is None else _invoked_by(detail, function),
        "was_due": late.get(run_id),
        "last": min(detail.first + STEPS, detail.count),
        "page_size": STEPS,
    }
    return render(request, "run.html", context)


def _output(run: Row) -> Excerpt:
    layout = error_laid_out if run.status == "FAILED" else laid_out
    return excerpt(run.output_text, run.output_whole, layout=layout)


def _events_laid_out(events: Json) -> str:
    """One event by itself; the events of a batch as a list."""
    return laid_out(events[0] if len(events) == 1 else events)


def _data(detail: RunDetail) -> dict[str, Any]:
    """The data of the (first) event; empty when it is too long to have been read."""
    if detail.run.events_whole > len(detail.run.events_text):
        return {}
    found: dict[str, Any] = loads(detail.run.events_text)[0].get("data") or {}
    return found


def _invoked_by(detail: RunDetail, function: Function) -> str | None:
    """The run whose step invoked this one; None too when the function only listens for what others invoke."""
    origin = _data(detail).get("_inngest")
    if not isinstance(origin, dict) or origin.get("fn_id") != function.slug:
        return None
    correlation = origin.get("correlation_id")
    return str(correlation).partition(".")[0] if correlation else None

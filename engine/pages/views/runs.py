"""Pages of runs: the list with its filters, and one run with its steps."""

from typing import Any
from urllib.parse import urlencode

from aiohttp import web
from sqlalchemy import Connection

from engine.api.state import state_of
from engine.formats.json_text import Json, loads
from engine.function import Function
from engine.history.runs import find_late_runs
from engine.pages.site.rendering import render
from engine.pages.site.request import list_functions, read_now, read_number, read_run_cursor, read_time
from engine.pages.site.text import Excerpt, lay_out, lay_out_error, make_excerpt
from engine.pages.views.run_detail import STEPS_PER_PAGE, RunPageData, read_run
from engine.pages.views.run_list import RunFilter, find_runs
from engine.pages.views.waterfall import draw_waterfall
from engine.rows import Row
from engine.storage.tables import ENDED, FAILED, RUN_STATUSES


async def get_runs(request: web.Request) -> web.Response:
    """The list of runs."""
    state, functions = state_of(request), list_functions(request)
    app, chosen = request.query.get("app", ""), request.query.get("function", "")
    status = request.query.get("status", "")
    if status and status not in RUN_STATUSES:
        raise web.HTTPBadRequest(text="There is no such status.")
    matching = [f.id for f in functions if app in {"", f.app} and chosen in {"", f.id}]
    run_filter = RunFilter(
        functions=matching if len(matching) < len(functions) else None,
        status=status or None,
        since=read_time(request, "from"),
        until=read_time(request, "until"),
        before=read_run_cursor(request),
    )
    known = [function.id for function in functions]
    rows, before = await state.read(lambda connection: find_runs(connection, run_filter, known))
    filters = {name: value for name, value in request.query.items() if value and name != "before"}
    context = {
        "runs": rows,
        "older": None if before is None else urlencode({**filters, "before": before}),
        "newest": urlencode(filters),
        "filtered": bool(filters),
        "run_filter": run_filter,
        "app": app,
        "chosen": chosen,
        "apps": sorted({function.app for function in functions}),
        "functions": functions,
        "statuses": RUN_STATUSES,
        "registry": state.dispatcher.writer.registry,
    }
    return render(request, "runs.html", context)


async def get_run(request: web.Request) -> web.Response:
    """One run; `first` is the number of the first step to show."""
    state, run_id = state_of(request), request.match_info["run_id"]
    first = read_number(request, "first") or 0

    def query(connection: Connection) -> tuple[RunPageData | None, dict[str, int]]:
        return read_run(connection, run_id, first), find_late_runs(connection, [run_id])

    detail, late = await state.read(query)
    if detail is None:
        raise web.HTTPNotFound(text="There is no such run. Old runs are deleted.")
    run, now = detail.run, read_now(request)
    function = state.dispatcher.writer.registry.by_id.get(run.function_id)
    context = {
        "run": run,
        "detail": detail,
        "lines": draw_waterfall(detail, now),
        "now": now,
        "over": run.status in ENDED,
        "output": None if run.output_text is None else _make_output_excerpt(run),
        "events": make_excerpt(run.events_text, run.events_whole, layout=_lay_out_events),
        "function": function,
        "invoked_by": None if function is None else _find_invoker(detail, function),
        "was_due": late.get(run_id),
        "last": min(detail.first + STEPS_PER_PAGE, detail.count),
        "page_size": STEPS_PER_PAGE,
    }
    return render(request, "run.html", context)


def _make_output_excerpt(run: Row) -> Excerpt:
    layout = lay_out_error if run.status == FAILED else lay_out
    return make_excerpt(run.output_text, run.output_whole, layout=layout)


def _lay_out_events(events: Json) -> str:
    """Write a single event by itself, the events of a batch as a list."""
    return lay_out(events[0] if len(events) == 1 else events)


def _read_data(detail: RunPageData) -> dict[str, Any]:
    """Return the data of the first event; empty when the events are too long to have been read whole."""
    if detail.run.events_whole > len(detail.run.events_text):
        return {}
    found: dict[str, Any] = loads(detail.run.events_text)[0].get("data") or {}
    return found


def _find_invoker(detail: RunPageData, function: Function) -> str | None:
    """Return the run whose step invoked this one; None also when the invocation of another function triggered it."""
    origin = _read_data(detail).get("_inngest")
    if not isinstance(origin, dict) or origin.get("fn_id") != function.slug:
        return None
    correlation = origin.get("correlation_id")
    return str(correlation).partition(".")[0] if correlation else None

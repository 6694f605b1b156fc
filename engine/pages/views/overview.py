"""The first page: what is registered, what is under way, what failed last, what comes next."""

from typing import Any

from aiohttp import web
from sqlalchemy import Connection, select

from engine.api.state import state_of
from engine.history.runs import list_missed_ticks
from engine.pages.site.rendering import render
from engine.pages.site.request import list_functions, read_now
from engine.pages.views.functions import list_upcoming_ticks
from engine.pages.views.run_list import RunFilter, count_runs, find_runs
from engine.runs.schedules import MOST_TICKS_COUNTED
from engine.storage.tables import apps

_MOST_COUNTED = 1000
_FEW = 8


async def get_overview(request: web.Request) -> web.Response:
    state, functions = state_of(request), list_functions(request)
    live = [function for function in functions if not function.archived]
    known = [function.id for function in functions]

    def query(connection: Connection) -> dict[str, Any]:
        return {
            "apps": list(connection.execute(select(apps).order_by(apps.c.name))),
            "running": count_runs(connection, "RUNNING", known, _MOST_COUNTED),
            "queued": count_runs(connection, "QUEUED", known, _MOST_COUNTED),
            "latest": find_runs(connection, RunFilter(), known, _FEW)[0],
            "missed": list_missed_ticks(connection, _FEW),
            "failures": find_runs(connection, RunFilter(status="FAILED"), known, _FEW)[0],
        }

    found = await state.read(query)
    context = {
        **found,
        "most": _MOST_COUNTED,
        "most_ticks": MOST_TICKS_COUNTED,
        "functions": live,
        "registry": state.dispatcher.writer.registry,
        "schedules": list_upcoming_ticks(live, read_now(request))[:_FEW],
    }
    return render(request, "overview.html", context)

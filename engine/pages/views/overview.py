"""Overview: the counts of apps, functions and runs, the latest runs and failures, and the next schedules."""

from typing import Any

from aiohttp import web
from sqlalchemy import Connection, select

from engine.api.state import state_of
from engine.history.runs import list_missed_ticks
from engine.pages.site.rendering import render
from engine.pages.site.request import list_functions, read_now
from engine.pages.views.functions import list_upcoming_ticks
from engine.pages.views.run_list import RunFilter, count_runs, find_runs
from engine.runs.schedules import MAX_COUNTED_TICKS
from engine.storage.tables import FAILED, QUEUED, RUNNING, apps

_MAX_COUNT = 1000
_LIST_LENGTH = 8


async def get_overview(request: web.Request) -> web.Response:
    """The first page."""
    state, functions = state_of(request), list_functions(request)
    live = [function for function in functions if not function.archived]
    known = [function.id for function in functions]

    def query(connection: Connection) -> dict[str, Any]:
        return {
            "apps": list(connection.execute(select(apps).order_by(apps.c.name))),
            "running": count_runs(connection, RUNNING, known, _MAX_COUNT),
            "queued": count_runs(connection, QUEUED, known, _MAX_COUNT),
            "latest": find_runs(connection, RunFilter(), known, _LIST_LENGTH)[0],
            "missed": list_missed_ticks(connection, _LIST_LENGTH),
            "failures": find_runs(connection, RunFilter(status=FAILED), known, _LIST_LENGTH)[0],
        }

    found = await state.read(query)
    context = {
        **found,
        "max_count": _MAX_COUNT,
        "max_ticks": MAX_COUNTED_TICKS,
        "functions": live,
        "registry": state.dispatcher.writer.registry,
        "schedules": list_upcoming_ticks(live, read_now(request))[:_LIST_LENGTH],
    }
    return render(request, "overview.html", context)

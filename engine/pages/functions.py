"""Apps with their functions; one function."""

from aiohttp import web
from sqlalchemy import Connection, select

from engine.api.state import state_of
from engine.function import Function
from engine.history.missed import latest_missed
from engine.json_text import loads
from engine.pages.asked import known_functions, now_of
from engine.pages.excerpts import excerpt
from engine.pages.options import options_of
from engine.pages.rendering import render
from engine.pages.run_list import RunFilter, find_runs
from engine.pages.schedules import schedules_of
from engine.rows import Row
from engine.runs.missed import MOST_COUNTED
from engine.tables import apps
from engine.tables import functions as function_rows

_FEW = 10


async def get_functions(request: web.Request) -> web.Response:
    functions = known_functions(request)
    rows = await state_of(request).read(lambda connection: list(connection.execute(select(apps).order_by(apps.c.name))))
    schedules = {
        function.id: schedules_of([function], now_of(request)) for function in functions if not function.archived
    }
    by_app: dict[str, list[Function]] = {row.name: [] for row in rows}
    for function in functions:
        by_app.setdefault(function.app, []).append(function)
    context = {"apps": {row.name: row for row in rows}, "by_app": by_app, "schedules": schedules}
    return render(request, "functions.html", context)


async def get_function(request: web.Request) -> web.Response:
    state, function = state_of(request), _find(request)
    wanted = RunFilter(functions=[function.id])

    def query(connection: Connection) -> tuple[list[Row], str, list[Row]]:
        statement = select(function_rows.c.config).where(function_rows.c.id == function.id)
        return (
            find_runs(connection, wanted, (), _FEW)[0],
            connection.execute(statement).scalar() or "{}",
            latest_missed(connection, _FEW, function.id),
        )

    runs, config, missed = await state.read(query)
    context = {
        "function": function,
        "options": list(options_of(function)),
        "schedules": [] if function.archived else schedules_of([function], now_of(request)),
        "missed": missed,
        "most_ticks": MOST_COUNTED,
        "runs": runs,
        "registry": state.core.writer.registry,
        "config": excerpt(config),
        "triggers": loads(config).get("triggers") or [],
    }
    return render(request, "function.html", context)


def _find(request: web.Request) -> Function:
    function = state_of(request).core.writer.registry.by_id.get(request.match_info["function_id"])
    if function is None:
        raise web.HTTPNotFound(text="There is no such function.")
    return function

"""Pages of functions: the list by app, and one function with its options, schedules and latest runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from aiohttp import web
from sqlalchemy import Connection, select

from engine.api.state import state_of
from engine.expressions import Expression
from engine.formats.clock import to_datetime
from engine.formats.cron import jitter_of, parse_cron
from engine.formats.json_text import loads
from engine.function import Function, RateRule
from engine.history.runs import list_missed_ticks
from engine.pages.site.rendering import render
from engine.pages.site.request import list_functions, read_now
from engine.pages.site.text import format_duration, make_excerpt
from engine.pages.views.run_list import RunFilter, find_runs
from engine.rows import Row
from engine.runs.schedules import MAX_COUNTED_TICKS
from engine.storage.tables import apps
from engine.storage.tables import functions as function_rows

_LIST_LENGTH = 10


def describe_options(function: Function) -> Iterator[tuple[str, str]]:
    """Yield the name and the description of each option that is set."""
    yield "Retries", f"{function.retries} ({function.retries + 1} attempts in all)"
    for limit in function.concurrency:
        scope = {"fn": "in this function", "env": "in this engine", "account": "in this engine"}.get(limit.scope, "")
        yield "Concurrency", f"{limit.limit} at a time{_per_key(limit.key)} {scope}"
    if function.throttle is not None:
        yield "Throttle", f"{_describe_rate(function.throttle)}; more wait"
    if function.rate_limit is not None:
        yield "Rate limit", f"{_describe_rate(function.rate_limit)}; more are dropped"
    if (debounce := function.debounce) is not None:
        longest = "" if debounce.timeout_ms is None else f", at most {format_duration(debounce.timeout_ms)}"
        yield "Debounce", f"{format_duration(debounce.period_ms)} after the last event{longest}{_per_key(debounce.key)}"
    if (batch := function.batch) is not None:
        only = f", only when {batch.condition.text}" if batch.condition else ""
        yield (
            "Batch",
            f"up to {batch.max_size} events or {format_duration(batch.timeout_ms)}{_per_key(batch.key)}{only}",
        )
    if function.singleton is not None:
        others = "a new run is skipped" if function.singleton.mode == "skip" else "a new run cancels the old one"
        yield "Singleton", f"one run{_per_key(function.singleton.key)}; {others}"
    if function.idempotency is not None:
        yield "Idempotency", f"once for each {function.idempotency.text}"
    if function.priority is not None:
        yield "Priority", f"{function.priority.text} seconds ahead"
    for cancel in function.cancellations:
        only = f" where {cancel.expression.text}" if cancel.expression else ""
        within = "" if cancel.timeout_ms is None else f", within {format_duration(cancel.timeout_ms)}"
        yield "Cancelled by", f"{cancel.event}{only}{within}"
    if function.start_timeout_ms is not None:
        yield "Must start within", format_duration(function.start_timeout_ms)
    if function.finish_timeout_ms is not None:
        yield "Must finish within", format_duration(function.finish_timeout_ms)


def _per_key(key: Expression | None) -> str:
    return "" if key is None else f" for each {key.text}"


def _describe_rate(rate: RateRule) -> str:
    burst = f" (and {rate.burst} at once)" if rate.burst else ""
    return f"{rate.limit} per {format_duration(rate.period_ms)}{burst}{_per_key(rate.key)}"


@dataclass(frozen=True)
class UpcomingTick:
    """The next run of a cron: `at` in milliseconds, `local` as text in the cron's time zone."""

    function: Function
    cron: str
    jitter_ms: int
    at: int
    local: str


def list_upcoming_ticks(functions: Iterable[Function], now: int) -> list[UpcomingTick]:
    """Return the next run of each cron of these functions, soonest first."""
    found = [
        _next_tick(function, trigger.text, trigger.jitter_ms, now)
        for function in functions
        for trigger in function.cron_triggers
    ]
    return sorted(found, key=lambda schedule: schedule.at)


def _next_tick(function: Function, text: str, jitter_ms: int, now: int) -> UpcomingTick:
    cron = parse_cron(text)
    # A past tick may still have to run, because of its jitter.
    tick = cron.next_after(now - jitter_ms)
    while (at := tick + jitter_of(function.slug, tick, jitter_ms)) <= now:
        tick = cron.next_after(tick)
    local = to_datetime(at).astimezone(cron.zone)
    return UpcomingTick(function, text, jitter_ms, at, f"{local:%a %d %b %Y, %H:%M:%S} {cron.zone}")


async def get_functions(request: web.Request) -> web.Response:
    """The list of functions by app."""
    functions = list_functions(request)
    rows = await state_of(request).read(lambda connection: list(connection.execute(select(apps).order_by(apps.c.name))))
    schedules = {
        function.id: list_upcoming_ticks([function], read_now(request))
        for function in functions
        if not function.archived
    }
    by_app: dict[str, list[Function]] = {row.name: [] for row in rows}
    for function in functions:
        by_app.setdefault(function.app, []).append(function)
    context = {"apps": {row.name: row for row in rows}, "by_app": by_app, "schedules": schedules}
    return render(request, "functions.html", context)


async def get_function(request: web.Request) -> web.Response:
    """One function."""
    state, function = state_of(request), _find_function(request)
    run_filter = RunFilter(functions=[function.id])

    def query(connection: Connection) -> tuple[list[Row], str, list[Row]]:
        statement = select(function_rows.c.config).where(function_rows.c.id == function.id)
        return (
            find_runs(connection, run_filter, (), _LIST_LENGTH)[0],
            connection.execute(statement).scalar() or "{}",
            list_missed_ticks(connection, _LIST_LENGTH, function.id),
        )

    runs, config, missed = await state.read(query)
    context = {
        "function": function,
        "options": list(describe_options(function)),
        "schedules": [] if function.archived else list_upcoming_ticks([function], read_now(request)),
        "missed": missed,
        "max_ticks": MAX_COUNTED_TICKS,
        "runs": runs,
        "registry": state.dispatcher.writer.registry,
        "config": make_excerpt(config),
        "triggers": loads(config).get("triggers") or [],
    }
    return render(request, "function.html", context)


def _find_function(request: web.Request) -> Function:
    function = state_of(request).dispatcher.writer.registry.by_id.get(request.match_info["function_id"])
    if function is None:
        raise web.HTTPNotFound(text="There is no such function.")
    return function

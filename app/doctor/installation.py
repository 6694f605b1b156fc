"""Checks of a whole installation, from settings to processes. A check returns one finding and never raises."""

from __future__ import annotations

from collections.abc import Iterator

from app.clients import model_name
from app.doctor.finding import Finding, Verdict
from app.doctor.services import look_at_engine, look_at_search
from app.doctor.skills import look_at_checks, look_at_jail, look_at_skill_files, look_at_watching
from app.preflight import home_problems, model_problems, plugin_problems
from app.schema import require_schema
from app.supervision.home_state import ProcessRow, ProcessState, read_rows
from app.supervision.probe import is_ready
from core.errors import LoopwrightError
from core.plugins import TOOL_PLUGINS, find_generator_plugins, find_plugins
from core.settings import Settings, plugin_name_problems


def examine_installation(settings: Settings) -> Iterator[Finding]:
    """Run all checks. The settings themselves were validated when they were read."""
    yield Finding("settings", Verdict.OK, "every variable is known and can be read")
    yield _look_at_home(settings)
    yield _look_at_database(settings)
    yield _look_at_model(settings)
    yield from _look_at_plugins(settings)
    yield look_at_jail()
    yield look_at_checks()
    yield look_at_watching(settings.home)
    yield look_at_skill_files(settings)
    yield look_at_search(settings)
    rows = read_rows(settings.home)
    if rows is None:
        yield Finding("processes", Verdict.NOTE, "not running: start it with `loopwright up`")
    for row in rows or []:
        yield _look_at_process(row)
    if not any(row.name == "engine" for row in rows or []):
        yield look_at_engine(settings, running=rows is not None)


def _look_at_home(settings: Settings) -> Finding:
    problems = home_problems(settings.home)
    if problems:
        return Finding("home", Verdict.PROBLEM, problems[0])
    return Finding("home", Verdict.OK, f"{settings.home.resolve()} can be written")


def _look_at_database(settings: Settings) -> Finding:
    try:
        require_schema(settings)
    except LoopwrightError as error:
        return Finding("database", Verdict.PROBLEM, str(error))
    return Finding("database", Verdict.OK, "it answers and has this release's schema")


def _look_at_model(settings: Settings) -> Finding:
    if settings.offline_model:
        how = "set OPENAI_API_KEY and LOOPWRIGHT_MODEL for a real one"
        return Finding("model", Verdict.NOTE, f"the offline stand-in answers: {how}")
    if problems := model_problems(settings):
        return Finding("model", Verdict.PROBLEM, problems[0])
    return Finding("model", Verdict.OK, f"{model_name(settings)} at {settings.openai_base_url or 'its own address'}")


def _look_at_plugins(settings: Settings) -> Iterator[Finding]:
    """Check the plug-ins in use: all tools and the chosen generators. No finding if there are none."""
    problems = plugin_name_problems(find_plugins()) or plugin_problems(settings)
    if problems:
        yield Finding("plug-ins", Verdict.PROBLEM, "; ".join(problems))
        return
    used = {"tools": find_plugins(TOOL_PLUGINS), "generators": find_generator_plugins(settings.generators)}
    parts = [f"{what} come from {', '.join(map(str, plugins))}" for what, plugins in used.items() if plugins]
    if parts:
        yield Finding("plug-ins", Verdict.OK, "; ".join(parts))


def _look_at_process(row: ProcessRow) -> Finding:
    if row.state is not ProcessState.RUNNING and row.name == "index":
        return Finding(row.name, Verdict.NOTE, f"{row.state}: until it runs, each search reads the database")
    if row.state is not ProcessState.RUNNING:
        return Finding(row.name, Verdict.PROBLEM, f"{row.state}: see its log in the home")
    path = {"engine": "/health", "index": "/api/v2/heartbeat"}.get(row.name, "/healthz")
    if not is_ready(f"http://127.0.0.1:{row.port}{path}"):
        return Finding(
            row.name, Verdict.PROBLEM, f"runs as process {row.pid} but does not answer: see its log in the home"
        )
    return Finding(row.name, Verdict.OK, f"runs as process {row.pid} on port {row.port}")

"""Every look at an installation; each finds one thing and raises nothing."""

from __future__ import annotations

from collections.abc import Iterator

from app.doctor.checks import look_at_checks
from app.doctor.engine import look_at_engine
from app.doctor.finding import Finding, Verdict
from app.doctor.jail import look_at_jail
from app.doctor.search import look_at_search
from app.doctor.skill_files import look_at_skill_files
from app.doctor.watching import look_at_watching
from app.model_client import model_name
from app.reaching import require_schema
from app.supervise.preflight import home_problems, model_problems
from app.supervise.probe import is_ready
from app.supervise.state_file import ProcessRow, ProcessState, read_rows
from core.errors import LoopwrightError
from core.settings import Settings


def look(settings: Settings) -> Iterator[Finding]:
    """The settings are right already, since they were read."""
    yield Finding("settings", Verdict.OK, "every variable is known and can be read")
    yield _home(settings)
    yield _database(settings)
    yield _model(settings)
    yield look_at_jail()
    yield look_at_checks()
    yield look_at_watching(settings.home)
    yield look_at_skill_files(settings)
    yield look_at_search(settings)
    rows = read_rows(settings.home)
    if rows is None:
        yield Finding("processes", Verdict.NOTE, "not running: start it with `loopwright up`")
    for row in rows or []:
        yield _process(row)
    if not any(row.name == "engine" for row in rows or []):
        yield look_at_engine(settings, running=rows is not None)


def _home(settings: Settings) -> Finding:
    problems = home_problems(settings.home)
    if problems:
        return Finding("home", Verdict.PROBLEM, problems[0])
    return Finding("home", Verdict.OK, f"{settings.home.resolve()} can be written")


def _database(settings: Settings) -> Finding:
    try:
        require_schema(settings)
    except LoopwrightError as error:
        return Finding("database", Verdict.PROBLEM, str(error))
    return Finding("database", Verdict.OK, "it answers and has this release's schema")


def _model(settings: Settings) -> Finding:
    if settings.offline_model:
        how = "set OPENAI_API_KEY and LOOPWRIGHT_MODEL for a real one"
        return Finding("model", Verdict.NOTE, f"the offline stand-in answers: {how}")
    if problems := model_problems(settings):
        return Finding("model", Verdict.PROBLEM, problems[0])
    return Finding("model", Verdict.OK, f"{model_name(settings)} at {settings.openai_base_url or 'its own address'}")


def _process(row: ProcessRow) -> Finding:
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

"""Load plug-ins as the worker does and print their problems as JSON: `python -m app.plugin_check HOME GROUP…`.

Runs as a process of its own: code of plug-ins may start threads, after which the supervisor could not fork safely.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Collection
from pathlib import Path

from app.clients import make_inngest_client, make_model
from app.compose import AppDependencies
from app.plugins import load_plugin_generators
from core.database import Database
from core.plugins import GENERATOR_PLUGINS, TOOL_PLUGINS
from core.settings import Settings, SettingsError, load_settings
from workspace.assets import Assets

# Before `up` chooses a port, the web process has no address yet; a generator may need one for its callbacks.
_SOME_WEB_URL = "http://127.0.0.1"


def plugin_tool_problems(settings: Settings) -> list[str]:
    """Return a line for each plug-in whose tools cannot be used. Opens no database and calls no service."""
    database = Database(settings.sql_url)
    dependencies = AppDependencies(
        settings=settings,
        clock=database.clock,
        inngest=make_inngest_client(settings),
        database=database,
        assets=Assets(f"file://{settings.home.resolve() / 'assets'}"),
        model=make_model(settings),
        providers={},
    )
    try:
        _ = dependencies.runtime
    except SettingsError as error:
        return error.problems
    return []


def plugin_generator_problems(settings: Settings) -> list[str]:
    """Return a line for each chosen generator's plug-in that cannot be used. Calls no service."""
    try:
        load_plugin_generators(settings.model_copy(update={"web_url": settings.web_url or _SOME_WEB_URL}))
    except SettingsError as error:
        return error.problems
    return []


def main(home: Path, groups: Collection[str]) -> None:
    problems: list[str] = []
    # What a plug-in prints must not mix with our JSON.
    with contextlib.redirect_stdout(sys.stderr):
        settings = load_settings(home=home)
        if TOOL_PLUGINS in groups:
            problems += plugin_tool_problems(settings)
        if GENERATOR_PLUGINS in groups:
            problems += plugin_generator_problems(settings)
    print(json.dumps(problems))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])

"""Load the installed plug-ins' tools as the worker will, and print what is wrong as JSON: `app.plugin_check HOME`.

A process by itself: what plug-ins load may start threads, and the supervisor forks.
"""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path

from app.clients import make_inngest_client, make_model
from app.compose import AppDependencies
from core.database import Database
from core.settings import Settings, SettingsError, load_settings
from workspace.assets import Assets


def plugin_tool_problems(settings: Settings) -> list[str]:
    """Return a line for each plug-in that cannot be used. No database and no service is asked."""
    database = Database(settings.sql_url)
    parts = AppDependencies(
        settings=settings,
        clock=database.clock,
        inngest=make_inngest_client(settings),
        database=database,
        assets=Assets(f"file://{settings.home.resolve() / 'assets'}"),
        model=make_model(settings),
        providers={},
    )
    try:
        _ = parts.runtime
    except SettingsError as error:
        return error.problems
    return []


def main(home: Path) -> None:
    # What a plug-in prints is no part of the answer.
    with contextlib.redirect_stdout(sys.stderr):
        problems = plugin_tool_problems(load_settings(home=home))
    print(json.dumps(problems))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

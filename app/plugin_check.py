"""Load the plug-ins' tools as the worker does and print their problems as JSON: `python -m app.plugin_check HOME`.

Runs as a process of its own: code of plug-ins may start threads, after which the supervisor could not fork safely.
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
    """Return a line for each plug-in that cannot be used. Opens no database and calls no service."""
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


def main(home: Path) -> None:
    # What a plug-in prints must not mix with our JSON.
    with contextlib.redirect_stdout(sys.stderr):
        problems = plugin_tool_problems(load_settings(home=home))
    print(json.dumps(problems))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""`loopwright runs`, `run`."""

from __future__ import annotations

import json
from typing import Any

import click

from app.cli.client.api import Api
from app.cli.client.connection import client_command
from app.cli.output import json_option, local_time, print_json, print_table


@click.command()
@click.option("--function", "function_id", help="Only runs of this function: ID or APP/ID.")
@click.option("--status", help="queued, running, completed, failed or cancelled.")
@json_option
@client_command
def runs(api: Api, function_id: str | None, status: str | None, json_wanted: bool) -> None:
    """List function runs, newest first."""
    items = api.items("/api/v1/runs", function=function_id, status=status)
    if json_wanted:
        print_json({"items": items, "next": None})
    else:
        print_table(items, ("id", "function", "status", "started_at", "ended_at"))


@click.command()
@click.argument("run_id", metavar="ID")
@json_option
@client_command
def run(api: Api, run_id: str, json_wanted: bool) -> None:
    """Show one run with its steps."""
    found = api.get(f"/api/v1/runs/{run_id}")
    if json_wanted:
        print_json(found)
    else:
        _show(found)


def _show(found: dict[str, Any]) -> None:
    click.echo(f"{found['id']}  {found['function']}  {found['status']}")
    for name in ("started_at", "ended_at", "event", "output", "error"):
        if found.get(name) is not None:
            click.echo(f"{name:10} {_line(found[name])}")
    rows = [{**step, "result": _line(step.get("error") or step.get("output"))} for step in found.get("steps") or []]
    if rows:
        print_table(rows, ("name", "attempts", "started_at", "ended_at", "result"))


def _line(value: object) -> str:
    return local_time(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))

"""`loopwright ps`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from app.cli.home import home_option, not_running_error
from app.cli.output import json_option, print_json, print_table
from app.supervision.home_state import read_rows


@click.command()
@home_option
@json_option
def ps(home: Path, json_wanted: bool) -> None:
    """List the processes of a running product."""
    rows = read_rows(home)
    if rows is None:
        raise not_running_error(home)
    items = [asdict(row) for row in rows]
    if json_wanted:
        print_json({"items": items, "next": None})
    else:
        print_table(items, ("name", "pid", "port", "state"))

"""`loopwright ps`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from app.cli.home import home_option, not_running
from app.cli.show import as_json, json_option, table
from app.supervise.state_file import read_rows


@click.command()
@home_option
@json_option
def ps(home: Path, json_wanted: bool) -> None:
    """List the processes of a running product."""
    rows = read_rows(home)
    if rows is None:
        raise not_running(home)
    items = [asdict(row) for row in rows]
    if json_wanted:
        as_json({"items": items, "next": None})
    else:
        table(items, ("name", "pid", "port", "state"))

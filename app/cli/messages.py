"""`loopwright messages`."""

from __future__ import annotations

import click

from app.cli.api import Api
from app.cli.connection import client_command
from app.cli.show import as_json, json_option, table


@click.command()
@json_option
@client_command
def messages(api: Api, json_wanted: bool) -> None:
    """List the main thread."""
    items = api.items("/api/v1/thread")
    if json_wanted:
        as_json({"items": items, "next": None})
    else:
        table(items, ("id", "kind", "role", "state", "text"))

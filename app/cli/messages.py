"""`loopwright messages`."""

from __future__ import annotations

from typing import Any

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
        table([_row(item) for item in items], ("id", "who", "state", "text"))


def _row(item: dict[str, Any]) -> dict[str, object]:
    return {
        "id": item["id"],
        "who": item.get("author") or item["type"],
        "state": item.get("state") or item.get("status"),
        "text": item.get("text") or item.get("goal") or item.get("title"),
    }

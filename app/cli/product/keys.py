"""`loopwright keys`, `keys create`, `keys revoke`."""

from __future__ import annotations

from pathlib import Path

import click

from app.cli.client.api import Api
from app.cli.client.connection import client_command, connect, connection_options
from app.cli.output import json_option, print_json, print_table

_SCOPES = ("read", "write", "approve", "admin")


def _scopes(ctx: click.Context, parameter: click.Parameter, value: str) -> list[str]:
    names = [name.strip() for name in value.split(",") if name.strip()]
    if unknown := [name for name in names if name not in _SCOPES]:
        raise click.BadParameter(f"{', '.join(unknown)}: choose from {', '.join(_SCOPES)}")
    return names


@click.group(invoke_without_command=True)
@json_option
@connection_options
@click.pass_context
def keys(ctx: click.Context, home: Path, url: str | None, token: str | None, json_wanted: bool) -> None:
    """List, create and revoke keys."""
    if ctx.invoked_subcommand is not None:
        return
    items = connect(home, url, token).items("/api/v1/keys")
    if json_wanted:
        print_json({"items": items, "next": None})
        return
    rows = [{**item, "scopes": ",".join(item.get("scopes") or [])} for item in items]
    print_table(rows, ("id", "name", "speaks_as", "scopes", "created_at"))


@keys.command()
@click.argument("name")
@click.option("--scopes", required=True, callback=_scopes, help="A comma list of read, write, approve, admin.")
@click.option("--program", is_flag=True, help="A key for a program: a person must approve each paid action on a card.")
@json_option
@client_command
def create(api: Api, name: str, scopes: list[str], program: bool, json_wanted: bool) -> None:
    """Create a key; it is shown this once."""
    made = api.post("/api/v1/keys", {"name": name, "scopes": scopes, "speaks_as": "program" if program else "person"})
    if json_wanted:
        print_json(made)
    else:
        click.echo(made["key"])


@keys.command()
@click.argument("key_id", metavar="ID")
@client_command
def revoke(api: Api, key_id: str) -> None:
    """Revoke a key: it stops working at once."""
    api.delete(f"/api/v1/keys/{key_id}")
    click.echo(f"{key_id} is revoked")

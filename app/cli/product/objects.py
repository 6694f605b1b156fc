"""`loopwright objects`, `object`."""

from __future__ import annotations

from pathlib import Path

import click

from app.cli.client.api import Api
from app.cli.client.connection import client_command
from app.cli.output import json_option, local_time, print_json, print_table

_KINDS = ("document", "image", "video", "audio", "model3d", "collection", "flow")


@click.command()
@click.argument("query", required=False)
@click.option("--kind", type=click.Choice(_KINDS), help="Only this kind.")
@json_option
@client_command
def objects(api: Api, query: str | None, kind: str | None, json_wanted: bool) -> None:
    """List the shared workspace.

    With QUERY, the objects whose title matches.
    """
    items = api.items("/api/v1/objects", q=query, kind=kind)
    if json_wanted:
        print_json({"items": items, "next": None})
    else:
        print_table(items, ("id", "kind", "version", "size", "updated_at", "title"))


@click.command("object")
@click.argument("object_id", metavar="ID")
@click.option("--version", type=click.IntRange(min=1), help="An earlier version.")
@click.option("--save", type=click.Path(path_type=Path, dir_okay=False), help="Write its content to this file.")
@json_option
@client_command
def show_object(api: Api, object_id: str, version: int | None, save: Path | None, json_wanted: bool) -> None:
    """Show one object, or save its content."""
    found = api.get(f"/api/v1/objects/{object_id}", version=version)
    if save is not None:
        api.download(f"/api/v1/objects/{object_id}/content", save, version=version)
    if json_wanted:
        print_json(found)
        return
    for name in ("id", "kind", "title", "version", "media_type", "size", "sha256", "created_by", "updated_at"):
        click.echo(f"{name:11} {local_time(found.get(name))}")
    if save is not None:
        click.echo(f"saved to {save}")

"""`loopwright say`, `messages`."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import click

from app.cli.client.api import Api
from app.cli.client.connection import client_command
from app.cli.client.progress import ChangeStream, MessageProgress, timeout_error
from app.cli.output import json_option, print_json, print_table


@click.command()
@click.argument("text")
@click.option("--task", "task_id", metavar="ID", help="The task it belongs to.")
@click.option("--object", "object_id", metavar="ID", help="The object it is about.")
@click.option(
    "--attach",
    "files",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file to send along; may be given several times.",
)
@click.option("--wait", is_flag=True, help="Follow until the work waits, ends or asks.")
@click.option("--timeout", default=3600.0, show_default=True, help="Seconds that --wait waits at most.")
@json_option
@client_command
def say(
    api: Api,
    text: str,
    task_id: str | None,
    object_id: str | None,
    files: tuple[Path, ...],
    wait: bool,
    timeout: float,
    json_wanted: bool,
) -> None:
    """Post a message."""
    body: dict[str, object] = {"text": text, "client_id": uuid.uuid4().hex}
    if task_id:
        body["task_id"] = task_id
    if object_id:
        body["object_id"] = object_id
    if files:
        body["attachments"] = [api.upload(file) for file in files]
    posted = api.post("/api/v1/messages", body)
    if wait:
        _follow_message(api, posted["message_id"], timeout, quiet=json_wanted)
    if json_wanted:
        print_json(api.get(f"/api/v1/messages/{posted['message_id']}") if wait else posted)
    elif not wait:
        click.echo(posted["message_id"])


def _follow_message(api: Api, message_id: str, timeout: float, *, quiet: bool) -> None:
    progress = MessageProgress(api, message_id)
    for _ in ChangeStream(api).signal_changes(timeout):
        for line in progress.read_new_lines():
            if not quiet:
                click.echo(line)
        if progress.ended:
            return
    raise timeout_error(timeout)


@click.command()
@json_option
@client_command
def messages(api: Api, json_wanted: bool) -> None:
    """List the main thread."""
    items = api.items("/api/v1/thread")
    if json_wanted:
        print_json({"items": items, "next": None})
    else:
        print_table([_thread_row(item) for item in items], ("id", "who", "state", "text"))


def _thread_row(item: dict[str, Any]) -> dict[str, object]:
    return {
        "id": item["id"],
        "who": item.get("author") or item["type"],
        "state": item.get("state") or item.get("status"),
        "text": item.get("text") or item.get("goal") or item.get("title"),
    }

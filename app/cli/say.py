"""`loopwright say`."""

from __future__ import annotations

import uuid
from pathlib import Path

import click

from app.cli.api import Api
from app.cli.connection import client_command
from app.cli.events import ChangeStream, out_of_time
from app.cli.follow import Progress
from app.cli.show import as_json, json_option


@click.command()
@click.argument("text")
@click.option("--task", "task_id", metavar="ID", help="The task it belongs to.")
@click.option("--object", "object_id", metavar="ID", help="The object it speaks of.")
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
        _follow(api, posted["message_id"], timeout, quiet=json_wanted)
    if json_wanted:
        as_json(api.get(f"/api/v1/messages/{posted['message_id']}") if wait else posted)
    elif not wait:
        click.echo(posted["message_id"])


def _follow(api: Api, message_id: str, timeout: float, *, quiet: bool) -> None:
    progress = Progress(api, message_id)
    for _ in ChangeStream(api).wakes(timeout):
        for line in progress.fresh():
            if not quiet:
                click.echo(line)
        if progress.ended:
            return
    raise out_of_time(timeout)

"""`loopwright tasks`, `task`, `stop`, `pause`, `resume`."""

from __future__ import annotations

from typing import Any

import click

from app.cli.client.api import Api
from app.cli.client.connection import client_command
from app.cli.output import json_option, local_time, plain_line, print_json, print_table

_MARKS = {"todo": " ", "doing": ">", "waiting": "~", "done": "x", "blocked": "!", "skipped": "-"}


@click.command()
@click.option("--status", help="active, waiting, paused, blocked, done, stopped or archived; several with commas.")
@json_option
@client_command
def tasks(api: Api, status: str | None, json_wanted: bool) -> None:
    """List tasks."""
    items = api.items("/api/v1/tasks", status=status)
    if json_wanted:
        print_json({"items": items, "next": None})
        return
    rows = [{**item, "waits for": (item.get("waiting_on") or {}).get("type")} for item in items]
    print_table(rows, ("id", "kind", "status", "waits for", "goal"))


@click.command()
@click.argument("task_id", metavar="ID")
@json_option
@client_command
def task(api: Api, task_id: str, json_wanted: bool) -> None:
    """Show one task."""
    found = api.get(f"/api/v1/tasks/{task_id}")
    if json_wanted:
        print_json(found)
    else:
        _show(found)


@click.command()
@click.argument("task_id", metavar="TASK")
@click.option("--turn", "turn_id", metavar="TURN", help="Only while this turn is the task's newest.")
@client_command
def stop(api: Api, task_id: str, turn_id: str | None) -> None:
    """Stop a task for good.

    Nothing new starts and its open cards are closed. What a provider is making already goes on, is charged, and is
    kept with the task; each order can be cancelled by itself on the task's page while its provider allows it.
    """
    _move(api, task_id, "stop", {} if turn_id is None else {"turn_id": turn_id})


@click.command()
@click.argument("task_id", metavar="TASK")
@client_command
def pause(api: Api, task_id: str) -> None:
    """Pause a task until it is resumed."""
    _move(api, task_id, "pause")


@click.command()
@click.argument("task_id", metavar="TASK")
@client_command
def resume(api: Api, task_id: str) -> None:
    """Let a paused or blocked task go on."""
    _move(api, task_id, "resume")


def _move(api: Api, task_id: str, verb: str, body: object = None) -> None:
    found = api.post(f"/api/v1/tasks/{task_id}/{verb}", body)
    click.echo(f"{found['id']} is {found['status']}")


def _show(found: dict[str, Any]) -> None:
    click.echo(f"{found['id']}  {found['kind']}  {found['status']}")
    click.echo(plain_line(found["goal"]))
    if waiting := found.get("waiting_on"):
        click.echo(f"waits for {plain_line(waiting.get('type'))} since {local_time(waiting.get('since'))}")
    for step in found.get("checklist") or []:
        click.echo(f"[{_MARKS.get(step['status'], '?')}] {step['n']}. {plain_line(step['title'])}")
    for order in found.get("generations") or []:
        if contested := order.get("contested"):
            click.echo(f"contested: {plain_line(contested.get('text'))}")
    for card in found.get("open_cards") or []:
        click.echo(f"asks: {plain_line(card.get('title') if isinstance(card, dict) else card)}")

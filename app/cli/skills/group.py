"""`loopwright skills`, and the commands that change, run, review or delete a skill."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import click

from app.cli.client.api import Api
from app.cli.client.connection import client_command, connect, connection_options
from app.cli.lazy_group import LazyGroup
from app.cli.output import json_option, local_time, plain_line, print_json, print_table

# Imported only when used: checking needs parsers that the other commands do not.
_LAZY_COMMANDS = {
    "new": ("app.cli.skills.files:new", "Begin a skill file from a template."),
    "show": ("app.cli.skills.detail:show", "Show one skill: state, schedule, versions, and how its runs went."),
    "versions": ("app.cli.skills.detail:versions", "List a skill's versions: who wrote each, and why."),
    "diff": ("app.cli.skills.detail:diff", "Show what changed between two versions."),
    "check": ("app.cli.skills.files:check", "List the problems of a skill file, without running it."),
}


@click.group(cls=LazyGroup, table=_LAZY_COMMANDS, invoke_without_command=True)
@json_option
@connection_options
@click.pass_context
def skills(ctx: click.Context, home: Path, url: str | None, token: str | None, json_wanted: bool) -> None:
    """List skills, turn them on and off, and write new ones."""
    if ctx.invoked_subcommand is not None:
        return
    items = connect(home, url, token).items("/api/v1/skills")
    if json_wanted:
        print_json({"items": items, "next": None})
        return
    rows = [{**item, "next run": next(iter(item["next_runs"]), None), "file": item["source"]} for item in items]
    print_table(rows, ("id", "status", "version", "next run", "file"))


@skills.command()
@click.argument("skill_id", metavar="ID")
@json_option
@client_command
def enable(api: Api, skill_id: str, json_wanted: bool) -> None:
    """Turn a skill on; its permissions are asked on a card first."""
    _move(api, skill_id, "enable", json_wanted)


@skills.command()
@click.argument("skill_id", metavar="ID")
@json_option
@client_command
def disable(api: Api, skill_id: str, json_wanted: bool) -> None:
    """Turn a skill off: running runs finish, no new ones start."""
    _move(api, skill_id, "disable", json_wanted)


@skills.command()
@click.argument("skill_id", metavar="ID")
@click.option("--to", type=click.IntRange(min=1), help="A version's number; else the one that was active before.")
@json_option
@client_command
def rollback(api: Api, skill_id: str, to: int | None, json_wanted: bool) -> None:
    """Go back to an earlier version of a skill."""
    _move(api, skill_id, "rollback", json_wanted, {} if to is None else {"version": to})


@skills.command()
@click.argument("skill_id", metavar="ID")
@click.option("--function", "function_id", help="Which of its functions; needed if it has several.")
@click.option("--data", default="{}", show_default=True, help="The event's data, a JSON object.")
@json_option
@client_command
def invoke(api: Api, skill_id: str, function_id: str | None, data: str, json_wanted: bool) -> None:
    """Start a run of a skill now."""
    try:
        event = json.loads(data)
    except ValueError as error:
        raise click.BadParameter(f"not JSON: {error}", param_hint="--data") from None
    body = {"data": event, **({"function": function_id} if function_id else {})}
    answer = api.post(f"/api/v1/skills/{skill_id}/invoke", body)
    if json_wanted:
        print_json(answer)
    else:
        click.echo(f"sent as event {answer['event_id']}")


@skills.command()
@click.argument("skill_id", metavar="ID")
@click.argument("text", default="")
@json_option
@client_command
def ask(api: Api, skill_id: str, text: str, json_wanted: bool) -> None:
    """Ask the agent to change a skill as TEXT says; without TEXT, to repair it."""
    message = api.post(f"/api/v1/skills/{skill_id}/ask", {"text": text, "client_id": uuid.uuid4().hex})
    if json_wanted:
        print_json(message)
    else:
        click.echo(message["message_id"])


@skills.command()
@click.argument("skill_id", metavar="ID")
@json_option
@client_command
def review(api: Api, skill_id: str, json_wanted: bool) -> None:
    """Review a skill now: its runs, people's answers to its alarms, and what should change."""
    found = api.post(f"/api/v1/skills/{skill_id}/review")
    if json_wanted:
        print_json(found)
        return
    click.echo(f"review {found['review_id']} is {found['state']}; `loopwright skills reviews {skill_id}` shows it")


@skills.command()
@click.argument("skill_id", metavar="ID")
@json_option
@client_command
def reviews(api: Api, skill_id: str, json_wanted: bool) -> None:
    """Show what a skill's reviews found and proposed, newest first."""
    items = api.items(f"/api/v1/skills/{skill_id}/reviews")
    if json_wanted:
        print_json({"items": items, "next": None})
        return
    for one in items:
        proposal = one.get("proposal")
        summary = proposal["summary"] if proposal else one.get("reason") or one["state"]
        click.echo(f"{local_time(one['at'])}  {plain_line(summary)}")
        for change in proposal["changes"] if proposal else ():
            click.echo(f"    {plain_line(change['constant'])}: {change['from']:g} to {change['to']:g}")
        if expects := one.get("expects"):
            click.echo(f"    expected: {plain_line(expects)}")
        if before := one.get("before"):
            click.echo(f"    after the last change: {plain_line(before['words'])}")


@skills.command()
@click.argument("skill_id", metavar="ID")
@click.argument("outcome")
@click.option("--run", "run_id", help="The run that raised the alarm; leave it out for a missed alarm.")
@json_option
@client_command
def tell(api: Api, skill_id: str, outcome: str, run_id: str | None, json_wanted: bool) -> None:
    """Record whether an alarm was `real`, a `false alarm`, `too late` or `missed`; reviews use it."""
    found = api.post(f"/api/v1/skills/{skill_id}/outcomes", {"value": outcome, "run_id": run_id})
    if json_wanted:
        print_json(found)
    else:
        click.echo(f"{found['skill_id']}: {plain_line(found['value'])}")


@skills.command()
@click.argument("skill_id", metavar="ID")
@click.confirmation_option(prompt="Its file goes too. Delete it?")
@json_option
@client_command
def delete(api: Api, skill_id: str, json_wanted: bool) -> None:
    """Delete a skill with its file."""
    found = api.delete(f"/api/v1/skills/{skill_id}")
    if json_wanted:
        print_json(found)
    else:
        click.echo(f"{skill_id} is deleted")


def _move(api: Api, skill_id: str, verb: str, json_wanted: bool, body: object = None) -> None:
    found = api.post(f"/api/v1/skills/{skill_id}/{verb}", body)
    if json_wanted:
        print_json(found)
        return
    version = f", version {found['version']}" if found["version"] is not None else ""
    click.echo(f"{found['id']} is {found['status']}{version}")

"""`loopwright skills` and what a person may do to one: look at it, move it, run it, have it reviewed, delete it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from app.cli.api import Api
from app.cli.connection import client_command, connect, connection_options
from app.cli.lazy import LazyGroup
from app.cli.show import as_json, json_option, paragraphs, plain, table

# Checking needs parsers that no other command waits for.
_FILE_COMMANDS = {
    "new": ("app.cli.skill_files:new", "Begin a skill file from a template."),
    "check": ("app.cli.skill_files:check", "Say what is wrong with a skill file, without running it."),
}


@click.group(cls=LazyGroup, table=_FILE_COMMANDS, invoke_without_command=True)
@json_option
@connection_options
@click.pass_context
def skills(ctx: click.Context, home: Path, url: str | None, token: str | None, json_wanted: bool) -> None:
    """List skills, turn them on and off, and write new ones."""
    if ctx.invoked_subcommand is not None:
        return
    items = connect(home, url, token).items("/api/v1/skills")
    if json_wanted:
        as_json({"items": items, "next": None})
        return
    rows = [{**item, "next run": next(iter(item["next_runs"]), None), "file": item["source"]} for item in items]
    table(rows, ("id", "status", "version", "next run", "file"))


@skills.command()
@click.argument("skill_id", metavar="ID")
@click.option("--source", is_flag=True, help="Print the source of the version that serves.")
@json_option
@client_command
def show(api: Api, skill_id: str, source: bool, json_wanted: bool) -> None:
    """Show one skill with its permissions, problems and last runs."""
    found = api.get(f"/api/v1/skills/{skill_id}")
    if source and found["version"] is not None:
        found["source_text"] = api.get(f"/api/v1/skills/{skill_id}/versions/{found['version']}")["source"]
    if json_wanted:
        as_json(found)
    elif source:
        click.echo(paragraphs(found.get("source_text", "")))
    else:
        _show(found)


@skills.command()
@click.argument("skill_id", metavar="ID")
@client_command
def enable(api: Api, skill_id: str) -> None:
    """Let it serve; what it asks for is asked on a card first."""
    _move(api, skill_id, "enable")


@skills.command()
@click.argument("skill_id", metavar="ID")
@client_command
def disable(api: Api, skill_id: str) -> None:
    """Begin no new runs; those that began go on."""
    _move(api, skill_id, "disable")


@skills.command()
@click.argument("skill_id", metavar="ID")
@click.option("--to", type=click.IntRange(min=1), help="A version's number; else the one that served before.")
@client_command
def rollback(api: Api, skill_id: str, to: int | None) -> None:
    """Serve an earlier version again."""
    _move(api, skill_id, "rollback", {} if to is None else {"version": to})


@skills.command()
@click.argument("skill_id", metavar="ID")
@click.option("--function", "function_id", help="Which of its functions; needed where it has several.")
@click.option("--data", default="{}", show_default=True, help="The event's data, a JSON object.")
@client_command
def invoke(api: Api, skill_id: str, function_id: str | None, data: str) -> None:
    """Begin a run of it now."""
    try:
        event = json.loads(data)
    except ValueError as error:
        raise click.BadParameter(f"no JSON: {error}", param_hint="--data") from None
    body = {"data": event, **({"function": function_id} if function_id else {})}
    answer = api.post(f"/api/v1/skills/{skill_id}/invoke", body)
    click.echo(f"sent as event {answer['event_id']}")


@skills.command()
@click.argument("skill_id", metavar="ID")
@client_command
def review(api: Api, skill_id: str) -> None:
    """Review it now: how its runs went, what people said of its alarms, and what should change."""
    asked = api.post(f"/api/v1/skills/{skill_id}/review")
    click.echo(f"review {asked['review_id']} is {asked['state']}; `loopwright skills reviews {skill_id}` shows it")


@skills.command()
@click.argument("skill_id", metavar="ID")
@json_option
@client_command
def reviews(api: Api, skill_id: str, json_wanted: bool) -> None:
    """Show what its reviews found and proposed, newest first."""
    items = api.items(f"/api/v1/skills/{skill_id}/reviews")
    if json_wanted:
        as_json({"items": items, "next": None})
        return
    for one in items:
        proposal = one.get("proposal")
        said = proposal["summary"] if proposal else one.get("reason") or one["state"]
        click.echo(f"{one['at']}  {plain(said)}")
        for change in proposal["changes"] if proposal else ():
            click.echo(f"    {plain(change['constant'])}: {change['from']:g} to {change['to']:g}")
        if before := one.get("before"):
            click.echo(f"    after the last change: {plain(before['words'])}")


@skills.command()
@click.argument("skill_id", metavar="ID")
@click.argument("outcome")
@click.option("--run", "run_id", help="The run that alarmed; without it, something that no run saw.")
@client_command
def tell(api: Api, skill_id: str, outcome: str, run_id: str | None) -> None:
    """Tell what came of an alarm (`real`, `false alarm`, `too late`), or that one was `missed`: reviews judge by it."""
    told = api.post(f"/api/v1/skills/{skill_id}/outcomes", {"value": outcome, "run_id": run_id})
    click.echo(f"{told['skill_id']}: {plain(told['value'])}")


@skills.command()
@click.argument("skill_id", metavar="ID")
@click.confirmation_option(prompt="Its file goes too. Delete it?")
@client_command
def delete(api: Api, skill_id: str) -> None:
    """Take a skill away for good, with its file."""
    api.delete(f"/api/v1/skills/{skill_id}")
    click.echo(f"{skill_id} is deleted")


def _move(api: Api, skill_id: str, verb: str, body: object = None) -> None:
    found = api.post(f"/api/v1/skills/{skill_id}/{verb}", body)
    version = f", version {found['version']}" if found["version"] is not None else ""
    click.echo(f"{found['id']} is {found['status']}{version}")


def _show(found: dict[str, Any]) -> None:
    version = f"version {found['version']}" if found["version"] is not None else "no version yet"
    click.echo(f"{found['id']}  {found['status']}  {version}")
    for name in ("title", "purpose"):
        if found[name]:
            click.echo(plain(found[name]))
    click.echo(f"file  {plain(found['source'])}")
    if found["hash"]:
        click.echo(f"hash  {found['hash']}")
    if tried := found.get("candidate"):
        click.echo(f"version {tried['version']} is tried: {tried['stage'].replace('_', ' ')}")
    for problem in found["problems"]:
        line = f"line {problem['line']}: " if problem["line"] else ""
        click.echo(f"! {line}{plain(problem['reason'])} — {plain(problem['fix'])}")
    for function in found["functions"]:
        starts = (trigger.get("cron") or trigger.get("event") for trigger in function["triggers"])
        click.echo(f"{function['app']}/{function['id']}  {plain(', '.join(map(str, starts)))}")
    for at in found["next_runs"]:
        click.echo(f"next  {at}")
    if found["granted"]:
        click.echo(f"may   {plain(', '.join(found['granted']))}")
    if found["runs"]:
        table(found["runs"], ("id", "function", "status", "attempts", "started_at", "ended_at"))

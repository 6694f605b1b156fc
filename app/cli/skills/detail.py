"""`loopwright skills show`, `skills versions`, `skills diff`: a skill's state, runs and changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from app.cli.client.api import Api
from app.cli.client.connection import client_command
from app.cli.output import json_option, local_time, plain_line, plain_source, print_json, print_table

_BY = {"agent": "the agent", "person": "a person", "shipped": "Loopwright"}
_VERSIONS = 5


@click.command()
@click.argument("skill_id", metavar="ID")
@click.option("--source", is_flag=True, help="Print the source of the version that serves.")
@json_option
@client_command
def show(api: Api, skill_id: str, source: bool, json_wanted: bool) -> None:
    """Show one skill: state, schedule, permissions, problems, versions, and how its runs went."""
    found = api.get(f"/api/v1/skills/{skill_id}")
    if source and found["version"] is not None:
        found["source_text"] = api.get(f"/api/v1/skills/{skill_id}/versions/{found['version']}")["source"]
    if json_wanted:
        print_json(found)
    elif source:
        click.echo(plain_source(found.get("source_text", "")))
    else:
        for line in _lines(found):
            click.echo(line)
        _tables(found)


@click.command()
@click.argument("skill_id", metavar="ID")
@json_option
@client_command
def versions(api: Api, skill_id: str, json_wanted: bool) -> None:
    """List a skill's versions, newest first: author, reason and stage."""
    items = api.items(f"/api/v1/skills/{skill_id}/versions")
    if json_wanted:
        print_json({"items": items, "next": None})
    else:
        _versions(items)


@click.command()
@click.argument("skill_id", metavar="ID")
@click.argument("version", type=click.IntRange(min=1), required=False)
@click.option(
    "--against",
    type=click.IntRange(min=1),
    metavar="N",
    help="Compare with this version; else with the one it is based on.",
)
@json_option
@client_command
def diff(api: Api, skill_id: str, version: int | None, against: int | None, json_wanted: bool) -> None:
    """Show what changed in a version, by default in the newest."""
    if version is None:
        newest = api.items(f"/api/v1/skills/{skill_id}/versions")
        if not newest:
            raise click.ClickException(f"{skill_id} has no version yet")
        version = newest[0]["version"]
    found = api.get(f"/api/v1/skills/{skill_id}/versions/{version}", against=against)
    if json_wanted:
        print_json({name: value for name, value in found.items() if name != "source"})
        return
    click.echo(f"version {version} by {_BY[found['author']]}: {plain_line(found['reason']) or 'no reason given'}")
    if brought := found["brought_back"]:
        click.echo(
            f"    brought back by {_BY[brought['author']]}: {plain_line(brought['reason']) or 'no reason given'}"
        )
    for line in _trials(found):
        click.echo(line)
    click.echo(plain_source(found["diff"]) or "nothing changed")


def _lines(found: dict[str, Any]) -> Iterator[str]:
    version = f"version {found['version']}" if found["version"] is not None else "no version yet"
    yield f"{found['id']}  {found['status']}  {version}"
    yield from (plain_line(found[name]) for name in ("title", "purpose") if found[name])
    yield f"file  {plain_line(found['source'])}"
    if found["hash"]:
        yield f"hash  {found['hash']}"
    if tried := found.get("candidate"):
        yield f"version {tried['version']} is tried: {tried['stage'].replace('_', ' ')}"
        for one in found["versions"]:
            yield from _trials(one) if one["version"] == tried["version"] else ()
    for problem in found["problems"]:
        line = f"line {problem['line']}: " if problem["line"] else ""
        yield f"! {line}{plain_line(problem['reason'])} — {plain_line(problem['fix'])}"
    for function in found["functions"]:
        starts = (trigger.get("cron") or trigger.get("event") for trigger in function["triggers"])
        yield f"{function['app']}/{function['id']}  {plain_line(', '.join(map(str, starts)))}"
    yield from (f"next  {local_time(at)}" for at in found["next_runs"])
    yield from (
        f"may   {plain_line(one['words'])}{'' if one['granted'] else ' (not granted)'}" for one in found["wants"]
    )
    if found["wish"]:
        yield f"`loopwright skills ask {found['id']}` asks the agent: {plain_line(found['wish'])}"


def _trials(version: dict[str, Any]) -> Iterator[str]:
    """Yield how a version was tried and what it did differently."""
    for trial in version["trials"]:
        yield f"    {plain_line(trial['words'])}"
        yield from (f"      {plain_line(one)}" for one in trial["differences"])


def _tables(found: dict[str, Any]) -> None:
    days = [day for day in found["days"] if day["completed"] or day["failed"] or day["other"]]
    if days:
        rate = found["success_rate"]
        success = f", {rate:.0%} went well" if rate is not None else ""
        click.echo(f"\nruns of the last {len(found['days'])} days ({found['timezone']}){success}")
        print_table(days, ("date", "completed", "failed", "other"))
    if found["runs"]:
        click.echo("\nlast runs")
        print_table(
            found["runs"], ("id", "function", "version", "status", "stage", "attempts", "started_at", "ended_at")
        )
    if found["versions"]:
        click.echo("\nversions")
        _versions(found["versions"][:_VERSIONS])


def _versions(items: list[dict[str, Any]]) -> None:
    rows = [{**one, "by": _BY[one["author"]], "made": one["created_at"], "served": one["active_at"]} for one in items]
    print_table(rows, ("version", "stage", "by", "made", "served", "reason"))

"""`loopwright memory`: list, show, correct and forget facts, and export or reindex them."""

from __future__ import annotations

from typing import Any

import click

from app.cli.client.api import Api
from app.cli.client.connection import client_command
from app.cli.output import json_option, local_time, plain_line, print_json, print_table

_LISTING = "list"


class _OrQuery(click.Group):
    """A group that takes any words other than its commands as a query."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ("-h", "--help")):
            args = [_LISTING, *args]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return ["[OPTIONS] [QUERY] | COMMAND [ARGS]..."]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = {one.name: one for one in (*self.commands[_LISTING].get_params(ctx), *self.get_params(ctx))}
        records = [one.get_help_record(ctx) for one in options.values() if isinstance(one, click.Option)]
        with formatter.section("Options"):
            formatter.write_dl([record for record in records if record is not None])
        self.format_commands(ctx, formatter)


@click.group(cls=_OrQuery)
def memory() -> None:
    """List, correct and forget what is remembered.

    Anything other than a command is taken as a query.
    """


@memory.command(_LISTING, hidden=True)
@click.argument("query", required=False)
@click.option("--at", help="What was true at this time, such as 2026-03-01T12:00:00Z.")
@json_option
@client_command
def list_facts(api: Api, query: str | None, at: str | None, json_wanted: bool) -> None:
    """List what is remembered, newest first.

    With QUERY, the matches, best first.
    """
    items = api.items("/api/v1/memory", q=query, at=at)
    if json_wanted:
        print_json({"items": items, "next": None})
        return
    print_table(
        [{**item, "since": item["validity"]["from"]} for item in items], ("id", "scope", "standing", "since", "text")
    )


@memory.command()
@click.argument("fact_id", metavar="ID")
@json_option
@client_command
def show(api: Api, fact_id: str, json_wanted: bool) -> None:
    """Show one fact with its versions and their evidence."""
    found = api.get(f"/api/v1/memory/{fact_id}")
    if json_wanted:
        print_json(found)
        return
    for name in ("id", "state", "scope", "standing", "text"):
        click.echo(f"{name:11} {plain_line(found.get(name)) or '-'}")
    for version in found["versions"]:
        words = plain_line(version["text"]) or "(forgotten)"
        click.echo(f"version {version['version']:<3} {local_time(version['created_at'])}  {words}")
    for proof in found["evidence"]:
        source = proof.get("message_id") or "your correction"
        left = "" if proof["eligible"] else ", not used any more"
        click.echo(f"{proof['role']:11} {proof['at']}  version {proof['version']}: {source}{left}")


@memory.command()
@click.argument("fact_id", metavar="ID")
@client_command
def forget(api: Api, fact_id: str) -> None:
    """Ask to forget a fact; the card that opens says what will be lost."""
    card = api.get(f"/api/v1/cards/{api.post(f'/api/v1/memory/{fact_id}/forget')['card_id']}")
    click.echo(plain_line(card["title"]))
    click.echo("\n".join(plain_line(line) for line in card["body"].splitlines()))
    click.echo(f"`loopwright answer {card['id']} confirm` forgets it, `keep` keeps it")


@memory.command()
@click.argument("fact_id", metavar="ID")
@click.argument("text")
@client_command
def correct(api: Api, fact_id: str, text: str) -> None:
    """Replace a fact's text by TEXT."""
    found = api.post(f"/api/v1/memory/{fact_id}/correct", {"text": text})
    click.echo(f"{found['id']} version {found['version']}: {plain_line(found['text'])}")


@memory.command()
@client_command
def export(api: Api) -> None:
    """Print everything that is remembered for you, as JSON."""
    items: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        page = api.get("/api/v1/memory", cursor=cursor, limit=200)
        items += page["items"]
        cursor = page["next"]
        if cursor is None:
            break
    print_json({"items": items, "next": None})


@memory.command()
@client_command
def reindex(api: Api) -> None:
    """Rebuild the search index from the database."""
    state = api.post("/api/v1/memory/reindex")["state"]
    state_texts = {
        "done": "the index is rebuilt",
        "more": "the index is being rebuilt; searches find the rest in the database meanwhile",
        "busy": "the index is being written by another process: try again",
        "away": "the index does not answer; it is rebuilt as soon as it does",
    }
    click.echo(state_texts.get(state, state))

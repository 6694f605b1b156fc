"""`loopwright cards`, `answer`."""

from __future__ import annotations

import click

from app.cli.client.api import Api
from app.cli.client.connection import client_command
from app.cli.output import json_option, print_json, print_table


@click.command()
@click.option("--state", default="open", show_default=True, help="open, answered, expired, superseded or void.")
@json_option
@client_command
def cards(api: Api, state: str, json_wanted: bool) -> None:
    """List the cards that wait for an answer."""
    items = api.items("/api/v1/cards", state=state)
    if json_wanted:
        print_json({"items": items, "next": None})
        return
    rows = [{**item, "answers": "|".join(option["id"] for option in item["options"])} for item in items]
    print_table(rows, ("id", "kind", "task_id", "title", "answers"))


@click.command()
@click.argument("card_id", metavar="CARD")
@click.argument("option")
@click.argument("text", required=False)
@client_command
def answer(api: Api, card_id: str, option: str, text: str | None) -> None:
    """Answer a card.

    OPTION is one of the card's options; TEXT is an optional remark.
    """
    body = {"option": option, **({"text": text} if text else {})}
    card = api.post(f"/api/v1/cards/{card_id}/answer", body)
    click.echo(f"{card['id']} is {card['state']}")

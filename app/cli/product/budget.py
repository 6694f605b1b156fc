"""`loopwright budget`."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

import click

from app.cli.client.api import Api
from app.cli.client.connection import client_command
from app.cli.output import json_option, plain_line, print_json

_SETTABLE = ("balance", "free_per_operation", "free_per_day")


def _changes(ctx: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> dict[str, str]:
    changes = {}
    for word in value:
        name, _, amount = word.partition("=")
        if name not in _SETTABLE:
            raise click.BadParameter(f"{word}: set one of {', '.join(_SETTABLE)}, as in free_per_day=2.00")
        try:
            finite = Decimal(amount).is_finite()
        except InvalidOperation:
            finite = False
        if not finite:
            raise click.BadParameter(f"{word}: {amount!r} is not an amount")
        changes[name] = amount
    return changes


@click.command()
@click.argument("changes", metavar="[SET]...", nargs=-1, callback=_changes)
@json_option
@client_command
def budget(api: Api, changes: dict[str, str], json_wanted: bool) -> None:
    """Show the budget, or set parts of it.

    SET is NAME=AMOUNT, such as free_per_day=2.00, for balance, free_per_operation or free_per_day.
    """
    found = api.put("/api/v1/budget", changes) if changes else api.get("/api/v1/budget")
    if json_wanted:
        print_json(found)
        return
    for name, value in found.items():
        click.echo(f"{name:20} {plain_line(value)}")

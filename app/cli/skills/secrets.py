"""`loopwright secrets`, `secrets set`, `secrets delete`: values that skills may use without seeing them."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from app.cli.home import home_option
from app.cli.output import json_option, print_json
from core.errors import InvalidError, LoopwrightError
from skills.secrets import SecretFiles


@click.group(invoke_without_command=True)
@json_option
@home_option
@click.pass_context
def secrets(ctx: click.Context, home: Path, json_wanted: bool) -> None:
    """List, store and delete the secrets of skills.

    No value is ever shown.
    """
    if ctx.invoked_subcommand is None:
        _list(home, json_wanted)


@secrets.command("list")
@json_option
@home_option
def list_secrets(home: Path, json_wanted: bool) -> None:
    """List the names of all secrets."""
    _list(home, json_wanted)


@secrets.command("set")
@click.argument("name")
@home_option
def set_secret(name: str, home: Path) -> None:
    """Store a secret, or replace its value. Reads standard input, or prompts without echo."""
    files = SecretFiles(home)
    try:
        files.check(name)
        files.set(name, _value(name))
    except InvalidError as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"{name} is stored; skills whose manifest names it for a host may use it there once that is granted")


@secrets.command()
@click.argument("name")
@home_option
def delete(name: str, home: Path) -> None:
    """Delete a secret: requests that need it fail from now on."""
    try:
        SecretFiles(home).delete(name)
    except LoopwrightError as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"{name} is deleted")


def _list(home: Path, json_wanted: bool) -> None:
    names = SecretFiles(home).names()
    if json_wanted:
        print_json({"items": [{"name": name} for name in names], "next": None})
        return
    for name in names:
        click.echo(name)


def _value(name: str) -> str:
    if sys.stdin.isatty():
        typed: str = click.prompt(f"Value of {name}", hide_input=True, confirmation_prompt=True)
        return typed
    # More than may be stored, so that a longer value is refused, not cut.
    return sys.stdin.read(10_000).removesuffix("\n").removesuffix("\r")

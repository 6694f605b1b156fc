"""The product that a command talks to, found by its home or by an address and a key."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from app.cli.client.api import Api
from app.cli.home import home_option, not_running_error, own_or_group_value
from app.supervision.home_state import read_rows

R = TypeVar("R")


def connection_options(function: Callable[..., R]) -> Callable[..., R]:
    """Add the options --home, --url and --token."""
    function = click.option("--token", callback=own_or_group_value, help="A key for it; else the one in the home.")(
        function
    )
    function = click.option("--url", callback=own_or_group_value, help="The address of a product elsewhere.")(function)
    return home_option(function)


def client_command(function: Callable[..., R]) -> Callable[..., R]:
    """Add the options --home, --url and --token to a command, and pass it the API that they lead to."""

    @connection_options
    @functools.wraps(function)
    def command(*args: Any, home: Path, url: str | None, token: str | None, **kwargs: Any) -> R:
        return function(connect(home, url, token), *args, **kwargs)

    return command


def connect(home: Path, url: str | None, token: str | None) -> Api:
    return Api(url or find_url(home), token or find_token(home))


def find_url(home: Path) -> str:
    """Return the address of the web process that runs in this home."""
    for row in read_rows(home) or []:
        if row.name == "web":
            return f"http://127.0.0.1:{row.port}"
    raise not_running_error(home)


def find_token(home: Path) -> str:
    """Return the local person's key."""
    try:
        return (home / "keys" / "token").read_text().strip()
    except OSError:
        raise click.ClickException(f"no key in {home}: give one with --token") from None

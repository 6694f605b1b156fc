"""`loopwright up`."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import click

from app.cli.settings import home_override
from app.supervision.launch import CannotStartError, LaunchOptions, launch
from core.settings import is_web_address


def _checked_engine(ctx: click.Context, parameter: click.Parameter, value: str) -> str:
    if value != "embedded" and not is_web_address(value):
        raise click.BadParameter("`embedded`, or an address such as http://127.0.0.1:8288")
    return value.rstrip("/")


@click.command()
@home_override
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="The web's; 0: free ones.")
@click.option(
    "--engine", default="embedded", show_default=True, callback=_checked_engine, help="Or an Inngest server's address."
)
@click.option("--open", "open_page", is_flag=True, help="Open the page in a browser.")
def up(home: Path | None, port: int, engine: str, open_page: bool) -> None:
    """Start everything on this machine."""
    try:
        status = launch(LaunchOptions(home, port, engine, open_page), _print_line)
    except CannotStartError as error:
        for problem in error.problems:
            click.echo(problem, err=True)
        status = 1
    sys.exit(status)


def _print_line(line: str) -> None:
    # Nothing may read our output any more; the product goes on.
    with contextlib.suppress(BrokenPipeError):
        click.echo(line)

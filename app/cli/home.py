"""The option --home for commands that need no settings."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click


def own_or_group_value(ctx: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Return an option's value, else its group's: it may be given before or after a subcommand's name."""
    if value is None and ctx.parent is not None and parameter.name is not None:
        return ctx.parent.params.get(parameter.name)
    return value


def _chosen_home(ctx: click.Context, parameter: click.Parameter, value: Path | None) -> Path:
    return own_or_group_value(ctx, parameter, value) or Path(os.environ.get("LOOPWRIGHT_HOME") or "var")


home_option = click.option(
    "--home",
    type=click.Path(path_type=Path),
    callback=_chosen_home,
    help="The home of the product; else LOOPWRIGHT_HOME, else ./var.",
)


def not_running_error(home: Path) -> click.ClickException:
    """Return the error for a home in which nothing runs."""
    place = f"./{home}" if not home.is_absolute() and home.parts[:1] != ("..",) else str(home)
    return click.ClickException(f"Loopwright is not running in {place}: start it with `loopwright up`")

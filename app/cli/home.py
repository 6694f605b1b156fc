"""Which home a command speaks of."""

from __future__ import annotations

from pathlib import Path

import click

home_option = click.option(
    "--home",
    type=click.Path(path_type=Path),
    envvar="LOOPWRIGHT_HOME",
    default=Path("var"),
    help="The home of the product; else LOOPWRIGHT_HOME, else ./var.",
)


def not_running(home: Path) -> click.ClickException:
    shown = f"./{home}" if not home.is_absolute() and home.parts[:1] != ("..",) else str(home)
    return click.ClickException(f"Loopwright is not running in {shown}: start it with `loopwright up`")

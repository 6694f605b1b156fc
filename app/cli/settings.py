"""The option --home of commands that read the settings, and their problems as an exit of the command."""

from __future__ import annotations

from pathlib import Path

import click

from core.settings import Settings, SettingsError, load_settings

home_override = click.option(
    "--home", type=click.Path(path_type=Path), help="Data and keys; else LOOPWRIGHT_HOME, else ./var."
)


def read_settings(home: Path | None, **more: object) -> Settings:
    """The settings, with `home` instead of theirs when it is given."""
    given = {name: value for name, value in {"home": home, **more}.items() if value is not None}
    try:
        return load_settings(**given)
    except SettingsError as error:
        raise click.ClickException("\n".join(error.problems)) from None

"""The option --home for commands that read the settings, and the settings' problems as an error of the command."""

from __future__ import annotations

from pathlib import Path

import click

from core.settings import Settings, SettingsError, load_settings

home_override = click.option(
    "--home", type=click.Path(path_type=Path), help="Data and keys; else LOOPWRIGHT_HOME, else ./var."
)


def read_settings(home: Path | None, **more: object) -> Settings:
    """Read the settings; `home` and `more` override them unless None. Raise ClickException with all problems."""
    given = {name: value for name, value in {"home": home, **more}.items() if value is not None}
    try:
        return load_settings(**given)
    except SettingsError as error:
        raise click.ClickException("\n".join(error.problems)) from None

"""`loopwright migrate`."""

from __future__ import annotations

from pathlib import Path

import click

from app.cli.settings import home_override, read_settings
from app.preflight import make_home
from app.schema import name_database_errors
from app.schema_upgrade import upgrade_schema
from core.errors import LoopwrightError


@click.command("migrate")
@home_override
def migrate_database(home: Path | None) -> None:
    """Bring the database to this release's schema."""
    settings = read_settings(home)
    if problems := make_home(settings.home):
        raise click.ClickException("\n".join(problems))
    try:
        with name_database_errors(settings):
            revision = upgrade_schema(settings)
    except LoopwrightError as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"the database is at schema {revision}")

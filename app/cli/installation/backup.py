"""`loopwright backup`, `loopwright restore`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import click

from app.backup.archive import restore_backup, skip_change_numbers, write_backup
from app.backup.manifest import BackupError
from app.cli.settings import home_override, read_settings
from app.preflight import make_home
from app.schema import head_revision, require_schema
from app.supervision.home_state import HomeInUseError, HomeLock
from core.errors import LoopwrightError


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@home_override
def backup(file: Path, home: Path | None) -> None:
    """Write database, works and keys into one file.

    The agent's own folder is in it too. The product may run meanwhile.
    """
    settings = read_settings(home)
    with _errors_as_messages():
        require_schema(settings)
        write_backup(settings.home, settings.sql_url, head_revision(), file, datetime.now(UTC))
    click.echo(f"{file} holds what {settings.home} held; it contains its keys, so keep it private")
    if settings.assets_url:
        click.echo(f"the bytes of works in {settings.assets_url} are not in it", err=True)


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@home_override
def restore(file: Path, home: Path | None) -> None:
    """Bring back what a backup holds.

    The product must not run. What the home held before is kept in a folder of it.
    """
    settings = read_settings(home)
    if problems := make_home(settings.home):
        raise click.ClickException("\n".join(problems))
    with _errors_as_messages(), HomeLock(settings.home):
        manifest = restore_backup(settings.home, settings.sql_url, head_revision(), file, datetime.now(UTC))
        skip_change_numbers(settings.sql_url)
    click.echo(f"{settings.home} holds what was backed up at {manifest.made_at:%Y-%m-%d %H:%M:%S} UTC")


@contextmanager
def _errors_as_messages() -> Iterator[None]:
    try:
        yield
    except (BackupError, HomeInUseError, LoopwrightError, OSError) as error:
        raise click.ClickException(str(error)) from None

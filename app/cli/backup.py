"""`loopwright backup`, `loopwright restore`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import click

from app.backup.change_numbers import leave_a_gap
from app.backup.manifest import BackupError
from app.backup.restore import restore_backup
from app.backup.write import write_backup
from app.cli.settings import home_override, read_settings
from app.reaching import require_schema
from app.schema import head
from app.supervise.home_lock import HomeInUseError, HomeLock
from app.supervise.preflight import make_home
from core.errors import LoopwrightError


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@home_override
def backup(file: Path, home: Path | None) -> None:
    """Write database, works and keys into one file.

    The agent's own folder is in it too. The product may run meanwhile.
    """
    settings = read_settings(home)
    with _told():
        require_schema(settings)
        write_backup(settings.home, settings.sql_url, head(), file, datetime.now(UTC))
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
    with _told(), HomeLock(settings.home):
        manifest = restore_backup(settings.home, settings.sql_url, head(), file, datetime.now(UTC))
        leave_a_gap(settings.sql_url)
    click.echo(f"{settings.home} holds what was backed up at {manifest.made_at:%Y-%m-%d %H:%M:%S} UTC")


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except (BackupError, HomeInUseError, LoopwrightError, OSError) as error:
        raise click.ClickException(str(error)) from None

"""Bring a database to this release's schema, or refuse to touch one that is not there."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from core.database import Database
from core.errors import LoopwrightError
from core.settings import Settings

MIGRATIONS = Path(__file__).parent / "migrations"
_ONE_MIGRATES = 7_305_211


class SchemaError(LoopwrightError):
    """The database is not at this release's schema; the message names the command that helps."""

    code = "schema"


def head() -> str:
    """The newest schema this release knows: the number its last migration file begins with."""
    return max(path.name.split("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*.py"))


def revision_of(database: Database) -> str | None:
    """The schema a database is at; None when it is empty."""
    with database.unscoped() as connection:
        return _revision(connection)


def check_schema(database: Database) -> None:
    """Raise SchemaError unless the database is at `head`; every process asks this before it serves."""
    _refuse_newer(at := revision_of(database))
    if at != head():
        raise SchemaError(
            f"the database is at schema {at or 'none'} and this release needs {head()}: loopwright migrate"
        )


def migrate(settings: Settings) -> str:
    """Bring the settings' database to `head`; answers it. Two that migrate at once do it once."""
    settings.home.mkdir(parents=True, exist_ok=True)
    database = Database(settings.sql_url)
    try:
        _refuse_newer(at := revision_of(database))
        if at != head():
            _upgrade(database)
    finally:
        database.close()
    return head()


def _upgrade(database: Database) -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with database.unscoped() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_ONE_MIGRATES)))
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _refuse_newer(at: str | None) -> None:
    if at is not None and at > head():
        raise SchemaError(
            f"the database is at schema {at} and this release knows {head()}: install the newer release, "
            "or bring back an older state with loopwright restore"
        )


def _revision(connection: sa.Connection) -> str | None:
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    found = connection.execute(sa.text("select version_num from alembic_version")).scalar()
    return None if found is None else str(found)

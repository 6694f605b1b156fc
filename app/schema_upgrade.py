"""Upgrade a database to this release's schema with Alembic. Slow to import: import it only where needed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from app.schema import MIGRATIONS, head_revision, refuse_newer_schema, revision_of
from core.database import Database
from core.settings import Settings

_UPGRADE_LOCK = 7_305_211


def upgrade_schema(settings: Settings) -> str:
    """Bring the settings' database to `head` and return that revision. Two processes may do so together.

    Raises SchemaError for a database of a later release.
    """
    settings.home.mkdir(parents=True, exist_ok=True)
    database = Database(settings.sql_url)
    try:
        refuse_newer_schema(at := revision_of(database))
        if at != head_revision():
            _run_migrations(database)
    finally:
        database.close()
    return head_revision()


def _run_migrations(database: Database) -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with database.unscoped() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_UPGRADE_LOCK)))
        config.attributes["connection"] = connection
        command.upgrade(config, "head")

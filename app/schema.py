"""The schema of the database: all tables, a database's revision, and whether this release can use it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import ModuleType

import sqlalchemy as sa

import core.search.tables
import generation.tables
import memory.tables
import runtime.tables
import skills.tables
import workspace.tables
from core.database import Database
from core.errors import LoopwrightError, UnavailableError
from core.settings import Settings
from core.tables import metadata

MIGRATIONS = Path(__file__).parent / "migrations"
TABLE_MODULES: tuple[ModuleType, ...] = (
    core.search.tables,
    runtime.tables,
    workspace.tables,
    generation.tables,
    skills.tables,
    memory.tables,
)
"""The modules that define tables. Importing them here registers the tables with the metadata."""

_COLUMNS = {
    "sqlite": "select m.name, c.name from sqlite_master m join pragma_table_info(m.name) c where m.type = 'table'",
    "postgresql": "select table_name, column_name from information_schema.columns "
    "where table_schema = any(current_schemas(false))",
}
"""Queries for all columns by dialect: reflecting every table would make a start too slow."""


def all_tables() -> sa.MetaData:
    """Return the metadata with every table."""
    return metadata


class SchemaError(LoopwrightError):
    """The database's schema is not this release's. The message names the command that helps."""

    code = "schema"


def head_revision() -> str:
    """Return the newest schema this release knows: the number of its last migration file."""
    return max(path.name.split("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*.py"))


def revision_of(database: Database) -> str | None:
    """Return the schema a database is at; None if it is empty."""
    with database.unscoped() as connection:
        if not sa.inspect(connection).has_table("alembic_version"):
            return None
        found = connection.execute(sa.text("select version_num from alembic_version")).scalar()
        return None if found is None else str(found)


def check_schema(database: Database) -> None:
    """Raise SchemaError unless the database is at `head` and has every column this release uses.

    Every process checks this before it serves.
    """
    refuse_newer_schema(at := revision_of(database))
    if at != head_revision():
        raise SchemaError(
            f"the database is at schema {at or 'none'} and this release needs {head_revision()}: run loopwright migrate"
        )
    # Unreleased states of the sources share one revision number, so look at the columns too.
    if missing := _missing_columns(database):
        raise SchemaError(
            f"the database says that it is at schema {at} and lacks {', '.join(missing[:3])}: it was made by another "
            "state of these sources. Begin a new home with --home or LOOPWRIGHT_HOME, or go back to that state"
        )


def _missing_columns(database: Database) -> list[str]:
    """Return the columns that the database lacks, as `table.column`."""
    with database.unscoped() as connection:
        there = {tuple(row) for row in connection.execute(sa.text(_COLUMNS[connection.dialect.name]))}
    ours = ((table.name, column.name) for table in all_tables().sorted_tables for column in table.columns)
    return [f"{table}.{column}" for table, column in ours if (table, column) not in there]


def refuse_newer_schema(at: str | None) -> None:
    """Raise SchemaError for a schema of a later release."""
    if at is not None and at > head_revision():
        raise SchemaError(
            f"the database is at schema {at} and this release knows {head_revision()}: install the newer release, "
            "or bring back an older state with loopwright restore"
        )


@contextmanager
def name_database_errors(settings: Settings) -> Iterator[None]:
    """Turn a driver's error into an UnavailableError that names the database without its password."""
    try:
        yield
    except (sa.exc.DatabaseError, sa.exc.ArgumentError) as error:
        reason = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
        raise UnavailableError(
            f"the database {_public_url(settings.sql_url)} cannot be used ({reason}): see LOOPWRIGHT_DATABASE_URL"
        ) from None


def require_schema(settings: Settings) -> None:
    """Raise SchemaError unless the database has this release's schema, UnavailableError if it cannot be used."""
    with name_database_errors(settings), closing(Database(settings.sql_url)) as database:
        check_schema(database)


def _public_url(url: str) -> str:
    try:
        return sa.make_url(url).render_as_string(hide_password=True)
    except sa.exc.ArgumentError:
        return "that the settings name"

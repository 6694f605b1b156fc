"""Which schema a database is at, and whether this release may serve it."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from core.database import Database
from core.errors import LoopwrightError

MIGRATIONS = Path(__file__).parent / "migrations"


class SchemaError(LoopwrightError):
    """The database is not at this release's schema; the message names the command that helps."""

    code = "schema"


def head() -> str:
    """The newest schema this release knows: the number its last migration file begins with."""
    return max(path.name.split("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*.py"))


def revision_of(database: Database) -> str | None:
    """The schema a database is at; None when it is empty."""
    with database.unscoped() as connection:
        if not sa.inspect(connection).has_table("alembic_version"):
            return None
        found = connection.execute(sa.text("select version_num from alembic_version")).scalar()
        return None if found is None else str(found)


def check_schema(database: Database) -> None:
    """Raise SchemaError unless the database is at `head`; every process asks this before it serves."""
    refuse_newer(at := revision_of(database))
    if at != head():
        raise SchemaError(
            f"the database is at schema {at or 'none'} and this release needs {head()}: run loopwright migrate"
        )


def refuse_newer(at: str | None) -> None:
    """Raise SchemaError for a schema of a later release."""
    if at is not None and at > head():
        raise SchemaError(
            f"the database is at schema {at} and this release knows {head()}: install the newer release, "
            "or bring back an older state with loopwright restore"
        )

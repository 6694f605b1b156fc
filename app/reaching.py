"""A database that cannot be reached, said in a line instead of a trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import sqlalchemy as sa

from app.schema import check_schema
from core.database import Database
from core.errors import UnavailableError
from core.settings import Settings


@contextmanager
def reaching(settings: Settings) -> Iterator[None]:
    """Inside, a driver's error becomes an UnavailableError that names the database without its password."""
    try:
        yield
    except (sa.exc.DatabaseError, sa.exc.ArgumentError) as error:
        reason = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
        raise UnavailableError(
            f"the database {_shown(settings.sql_url)} cannot be used ({reason}): see LOOPWRIGHT_DATABASE_URL"
        ) from None


def require_schema(settings: Settings) -> None:
    """Raises SchemaError unless the database is at this release's schema, UnavailableError when it cannot be used."""
    with reaching(settings), closing(Database(settings.sql_url)) as database:
        check_schema(database)


def _shown(url: str) -> str:
    try:
        return sa.make_url(url).render_as_string(hide_password=True)
    except sa.exc.ArgumentError:
        return "that the settings name"

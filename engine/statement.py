"""Statements that run at every step: compiled once, then handed straight to the driver.

SQLAlchemy's own execution costs several times what SQLite needs for these, and they do not use what it adds (types,
result metadata): their columns are text and whole numbers.
"""

from collections import namedtuple
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Executable
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import ClauseElement

from engine.planned import Planned
from engine.rows import Row

Parameters = Mapping[str, Any]


class Found:
    """What a statement found or changed."""

    def __init__(self, rows: Sequence[Row], rowcount: int) -> None:
        self._rows = rows
        self.rowcount = rowcount

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def all(self) -> Sequence[Row]:
        return self._rows

    def first(self) -> Row | None:
        return self._rows[0] if self._rows else None

    def one(self) -> Row:
        (row,) = self._rows
        return row

    def scalar(self) -> Any:
        return self._rows[0][0] if self._rows else None


_UNKNOWN = Found((), -1)


class Statement:
    """A statement with named parameters, executed again and again.

    An INSERT gets its columns from the parameters of its first execution; every execution must name the same ones.
    Booleans come back as the driver has them (SQLite: 0 and 1).
    """

    def __init__(self, statement: Executable) -> None:
        self._statement = statement
        self._prepared: dict[str, _Prepared] = {}

    def execute(self, connection: Connection, parameters: Parameters, *, later: bool = False) -> Found:
        """Run it in the connection's transaction; `later` lets it go to PostgreSQL with what goes next.

        Raises:
            DBAPIError: as SQLAlchemy's own execution does.
        """
        prepared = self._prepared.get(connection.dialect.name)
        if prepared is None:
            prepared = _Prepared(self._statement, connection, parameters)
            self._prepared[connection.dialect.name] = prepared
        return prepared.execute(connection, parameters, later=later)


class _Prepared:
    def __init__(self, statement: Executable, connection: Connection, parameters: Parameters) -> None:
        assert isinstance(statement, ClauseElement)
        compiled = statement.compile(dialect=connection.dialect, column_keys=list(parameters))
        assert isinstance(compiled, SQLCompiler)
        self._sql = str(compiled)
        self._planned = Planned(self._sql) if connection.dialect.name == "postgresql" else None
        self._defaults = compiled.params
        self._order = compiled.positiontup
        self._row: Any = None

    def execute(self, connection: Connection, parameters: Parameters, *, later: bool) -> Found:
        values: Any = {**self._defaults, **parameters}
        if self._order is not None:
            values = [values[name] for name in self._order]
        raw = connection.connection
        cursor = raw.cursor()
        try:
            sql = self._sql if self._planned is None else self._planned.text(cursor, connection.info)
            if later and self._planned is not None:
                session: Any = raw.dbapi_connection
                session.later(sql, values)
                return _UNKNOWN
            cursor.execute(sql, values)
            columns: Any = cursor.description
            if columns is None:
                return Found((), cursor.rowcount)
            if self._row is None:
                self._row = _row_type([column[0] for column in columns])
            return Found([self._row(*row) for row in cursor.fetchall()], cursor.rowcount)
        except Exception as error:
            dialect = connection.dialect
            if not isinstance(error, dialect.loaded_dbapi.Error):
                raise
            gone = dialect.is_disconnect(error, raw.dbapi_connection, cursor)
            if gone:
                connection.invalidate(error)
            raise DBAPIError(self._sql, None, error, connection_invalidated=gone) from error
        finally:
            cursor.close()


def _row_type(names: list[str]) -> Any:
    return namedtuple("FoundRow", names)

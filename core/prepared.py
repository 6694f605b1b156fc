"""Statements compiled once for a kind of database and then handed straight to its driver.

SQLAlchemy's own execution costs several times what the database needs for such a statement. What it does for values and
rows is done here too, with its own converters: types, named rows, its errors. While somebody listens to the statements
of the connection's engine, and for what needs a new text at each run (a list of values), its own execution is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias
from weakref import WeakKeyDictionary

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Dialect, Row
from sqlalchemy.engine.result import SimpleResultMetaData
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.dml import Delete, Insert, Update

from core.planned import Planned

Statement: TypeAlias = "sa.Select[Any] | Insert | Update | Delete"
_Convert: TypeAlias = Callable[[Any], Any]


class Found(Protocol):
    """What a statement found or changed."""

    @property
    def rowcount(self) -> int: ...
    def all(self) -> Sequence[Row[Any]]: ...
    def first(self) -> Row[Any] | None: ...
    def scalar(self) -> Any: ...


class _Rows:
    def __init__(self, rows: Sequence[Row[Any]], rowcount: int) -> None:
        self._rows = rows
        self.rowcount = rowcount

    def all(self) -> Sequence[Row[Any]]:
        return self._rows

    def first(self) -> Row[Any] | None:
        return self._rows[0] if self._rows else None

    def scalar(self) -> Any:
        return self._rows[0][0] if self._rows else None


class _Prepared:
    """One statement for one dialect. `usable` tells whether its text is the same at every run."""

    def __init__(self, statement: Statement, dialect: Dialect, columns: Sequence[str] | None) -> None:
        compiled = statement.compile(dialect=dialect, column_keys=None if columns is None else list(columns))
        assert isinstance(compiled, SQLCompiler)
        lists = any(bind.expanding for bind in compiled.binds.values())
        self.usable = not (lists or compiled.insert_prefetch or compiled.update_prefetch)
        self._sql = str(compiled)
        self._planned = Planned(self._sql) if dialect.name == "postgresql" else None
        self._errors = dialect.loaded_dbapi.Error
        self._in_order = compiled.positiontup
        self._binds: list[tuple[str, _Convert | None]] = []
        self._fixed: dict[str, Any] = {}
        for name, bind in compiled.binds.items():
            convert = bind.type.dialect_impl(dialect).bind_processor(dialect)
            self._binds.append((name, convert))
            if not bind.required:
                value = bind.effective_value
                self._fixed[name] = value if convert is None else convert(value)
        found = [] if isinstance(statement, Insert) else list(statement.exported_columns.items())
        self._meta = SimpleResultMetaData([str(key) for key, _ in found])
        self._types = [column.type for _, column in found]
        self._converts: Sequence[Any] | None = None

    def run(self, connection: Connection, values: Mapping[str, Any], *, later: bool) -> Found:
        raw = connection.connection
        cursor = raw.cursor()
        try:
            sql = self._sql if self._planned is None else self._planned.text(cursor, connection.info)
            if later and self._planned is not None:
                session: Any = raw.dbapi_connection
                session.later(sql, self._parameters(values))
                return _UNKNOWN
            cursor.execute(sql, self._parameters(values))
            if not self._types or cursor.description is None:
                return _Rows((), cursor.rowcount)
            rows = cursor.fetchall()
            if self._converts is None:
                self._converts = self._converters(connection.dialect, cursor.description)
            meta, converts, keys = self._meta, self._converts or None, self._meta._key_to_index
            return _Rows([Row(meta, converts, keys, row) for row in rows], cursor.rowcount)
        except self._errors as error:
            gone = connection.dialect.is_disconnect(error, raw.dbapi_connection, cursor)
            if gone:
                connection.invalidate(error)
            raise sa.exc.DBAPIError.instance(
                self._sql,
                None,
                error,
                self._errors,
                connection_invalidated=gone,
                dialect=connection.dialect,
            ) from error
        finally:
            cursor.close()

    def _parameters(self, values: Mapping[str, Any]) -> Any:
        given = self._fixed.copy()
        for name, convert in self._binds:
            if name in values:
                value = values[name]
                given[name] = value if convert is None else convert(value)
        if self._in_order is None:
            return given
        return [given[name] for name in self._in_order]

    def _converters(self, dialect: Dialect, description: Sequence[Sequence[Any]]) -> Sequence[Any]:
        """One for each column; empty where none has any."""
        found = [
            kind.dialect_impl(dialect).result_processor(dialect, told[1])
            for kind, told in zip(self._types, description, strict=True)
        ]
        return found if any(convert is not None for convert in found) else []


_UNKNOWN = _Rows((), -1)
_known: dict[str, WeakKeyDictionary[Statement, _Prepared]] = {}


def run(connection: Connection, statement: Statement, values: Mapping[str, Any], *, later: bool = False) -> Found:
    """Run a statement that stands for many runs, with its values by name, in the connection's transaction.

    An insert gets its columns from `values`; two runs of one insert name the same. Where nobody needs to know what it
    found or changed, `later` lets it go to PostgreSQL with the next statement, or with the commit: so does its error.
    """
    if not connection.engine.dispatch.before_cursor_execute:
        kind = connection.dialect.name
        known = _known.get(kind)
        if known is None:
            known = _known.setdefault(kind, WeakKeyDictionary())
        prepared = known.get(statement)
        if prepared is None:
            columns = list(values) if isinstance(statement, Insert) and statement.select is None else None
            prepared = known.setdefault(statement, _Prepared(statement, connection.dialect, columns))
        if prepared.usable:
            return prepared.run(connection, values, later=later)
    return connection.execute(statement, dict(values))

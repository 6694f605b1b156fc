"""Run a constant statement: compile it once per dialect, then hand it straight to the driver.

SQLAlchemy's own execution costs several times what the database needs for a short statement
(docs/decisions/020-what-a-step-costs.md). What it does for values and rows is done here with its own converters: types,
named rows, its errors. It still runs the statement itself while something listens to the statements of the engine, and
when the text differs from run to run (a list of values).

This uses more of SQLAlchemy than it documents; tests/db/test_sqlalchemy_private_names.py lists it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Dialect, Row
from sqlalchemy.engine.result import SimpleResultMetaData
from sqlalchemy.sql.compiler import SQLCompiler

from core.sql.session_statements import SessionStatement

ConstantStatement: TypeAlias = "sa.Select[Any] | sa.Insert | sa.Update | sa.Delete | sa.TextClause"
_Converter: TypeAlias = Callable[[Any], Any]


class StatementResult:
    """The rows that a statement found or returned, and how many rows it matched (-1: not known)."""

    def __init__(self, rows: Sequence[Row[Any]], rowcount: int) -> None:
        self._rows = rows
        self.rowcount = rowcount

    def __iter__(self) -> Iterator[Row[Any]]:
        return iter(self._rows)

    def all(self) -> Sequence[Row[Any]]:
        return self._rows

    def first(self) -> Row[Any] | None:
        return self._rows[0] if self._rows else None

    def one(self) -> Row[Any]:
        (row,) = self._rows
        return row

    def scalar(self) -> Any:
        return self._rows[0][0] if self._rows else None


class _CompiledStatement:
    """One statement for one dialect. `usable` says whether its text is the same at every run."""

    def __init__(self, statement: ConstantStatement, dialect: Dialect, columns: list[str] | None) -> None:
        compiled = statement.compile(dialect=dialect, column_keys=columns)
        assert isinstance(compiled, SQLCompiler)
        has_lists = any(bind.expanding for bind in compiled.binds.values())
        self.usable = not (has_lists or compiled.insert_prefetch or compiled.update_prefetch)
        self._sql = str(compiled)
        self._in_session = SessionStatement(self._sql) if dialect.name == "postgresql" else None
        self._error = dialect.loaded_dbapi.Error
        self._order = compiled.positiontup
        self._fixed: dict[str, Any] = {}
        self._bind_converters: list[tuple[str, _Converter]] = []
        for name, bind in compiled.binds.items():
            convert = bind.type.dialect_impl(dialect).bind_processor(dialect)
            if convert is not None:
                self._bind_converters.append((name, convert))
            if not bind.required:
                value = bind.effective_value
                self._fixed[name] = value if convert is None else convert(value)
        # Text has no columns that SQLAlchemy knows, and so no rows here.
        returned = [] if isinstance(statement, sa.TextClause) else list(statement.exported_columns.items())
        self._metadata = SimpleResultMetaData([str(key) for key, _ in returned])
        self._types = [column.type for _, column in returned]
        self._row_converters: Sequence[Any] | None = None

    def run(self, connection: Connection, values: Mapping[str, Any], *, later: bool) -> StatementResult:
        raw = connection.connection
        cursor = raw.cursor()
        try:
            sql = self._sql if self._in_session is None else self._in_session.text(cursor, connection.info)
            if later and self._in_session is not None:
                session: Any = raw.dbapi_connection
                session.later(sql, self._parameters(values))
                return _UNKNOWN
            cursor.execute(sql, self._parameters(values))
            if not self._types or cursor.description is None:
                return StatementResult((), cursor.rowcount)
            return StatementResult(self._rows(connection.dialect, cursor), cursor.rowcount)
        except self._error as error:
            is_lost = connection.dialect.is_disconnect(error, raw.dbapi_connection, cursor)
            if is_lost:
                connection.invalidate(error)
            raise sa.exc.DBAPIError.instance(
                self._sql,
                None,
                error,
                self._error,
                connection_invalidated=is_lost,
                dialect=connection.dialect,
            ) from error
        finally:
            cursor.close()

    def _parameters(self, values: Mapping[str, Any]) -> Any:
        named = {**self._fixed, **values}
        for name, convert in self._bind_converters:
            if name in values:
                named[name] = convert(values[name])
        if self._order is None:
            return named
        return [named[name] for name in self._order]

    def _rows(self, dialect: Dialect, cursor: Any) -> Sequence[Row[Any]]:
        if self._row_converters is None:
            self._row_converters = self._find_row_converters(dialect, cursor.description)
        metadata, converters, keys = self._metadata, self._row_converters or None, self._metadata._key_to_index
        return [Row(metadata, converters, keys, row) for row in cursor.fetchall()]

    def _find_row_converters(self, dialect: Dialect, description: Sequence[Any]) -> Sequence[Any]:
        """Return one converter for each column; an empty list if no column needs one."""
        converters: list[Any] = [
            kind.dialect_impl(dialect).result_processor(dialect, column[1])
            for kind, column in zip(self._types, description, strict=True)
        ]
        return converters if any(convert is not None for convert in converters) else []


_UNKNOWN = StatementResult((), -1)
_compiled: dict[str, WeakKeyDictionary[ConstantStatement, _CompiledStatement]] = {}
"""By dialect; what is compiled lives as long as its statement."""


def run_statement(
    connection: Connection, statement: ConstantStatement, values: Mapping[str, Any], *, later: bool = False
) -> StatementResult:
    """Run a statement that was built once for many runs, with its values by name, in the connection's transaction.

    An insert gets its columns from the first `values`; each run must name the same. With `later`, PostgreSQL gets the
    statement together with the next one or with the commit: its result is not known, and its error comes from there.

    Raises:
        sqlalchemy.exc.DBAPIError: or the subclass that SQLAlchemy's own execution raises.
        KeyError: a value is missing.
    """
    if not connection.engine.dispatch.before_cursor_execute:
        dialect = connection.dialect
        of_dialect = _compiled.get(dialect.name)
        if of_dialect is None:
            of_dialect = _compiled.setdefault(dialect.name, WeakKeyDictionary())
        compiled = of_dialect.get(statement)
        if compiled is None:
            columns = list(values) if isinstance(statement, sa.Insert) and statement.select is None else None
            compiled = of_dialect.setdefault(statement, _CompiledStatement(statement, dialect, columns))
        if compiled.usable:
            return compiled.run(connection, values, later=later)
    return run_once(connection, statement, values)


def run_once(
    connection: Connection,
    statement: sa.Executable,
    values: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
) -> StatementResult:
    """Run a statement as SQLAlchemy does; for one that is built for this run, or that runs seldom."""
    result = connection.execute(statement, values)
    return StatementResult(result.all() if result.returns_rows else (), result.rowcount)

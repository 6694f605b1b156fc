"""What `core` and `engine` use of SQLAlchemy that it does not document, and the shape on which they rely.

An upgrade should break here and nowhere else. If a test fails, change `core/sql`, then this list, then the upper bound
in pyproject.toml.
"""

from __future__ import annotations

import ast
import sqlite3
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Dialect, Row
from sqlalchemy.engine.result import SimpleResultMetaData
from sqlalchemy.sql.compiler import SQLCompiler

_SQLITE = sa.create_engine("sqlite://").dialect
_ROOT = Path(__file__).parents[2]
_PRIVATE_ATTRIBUTES = {"core/sql/compiled.py": {"_key_to_index"}}
_DOCUMENTED_MODULES = {
    "sqlalchemy",
    "sqlalchemy.dialects",
    "sqlalchemy.engine",
    "sqlalchemy.exc",
    "sqlalchemy.pool",
}
_UNDOCUMENTED_IMPORTS = {
    "core/sql/compiled.py": {
        "sqlalchemy.engine.result.SimpleResultMetaData",
        "sqlalchemy.sql.compiler.SQLCompiler",
    }
}
_THINGS = sa.Table(
    "things",
    sa.MetaData(),
    sa.Column("id", sa.String, primary_key=True),
    sa.Column("at", sa.DateTime),
    sa.Column("count", sa.Integer, default=lambda: 7, onupdate=lambda: 8),
)
_AT = datetime(2026, 1, 2, 3, 4, 5)  # noqa: DTZ001 — the column has no zone


def _files_with_sqlalchemy() -> Iterator[tuple[str, ast.Module]]:
    for folder in ("core", "engine"):
        for path in sorted((_ROOT / folder).rglob("*.py")):
            tree = ast.parse(path.read_text())
            if any(module.split(".")[0] == "sqlalchemy" for module, _ in _imports(tree)):
                yield str(path.relative_to(_ROOT)), tree


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)


def _own_names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _compiled(statement: sa.Select[tuple[str]] | sa.Insert | sa.Update, dialect: Dialect) -> SQLCompiler:
    columns = ["id", "at"] if isinstance(statement, sa.Insert) else None
    compiled = statement.compile(dialect=dialect, column_keys=columns)
    assert isinstance(compiled, SQLCompiler)
    return compiled


def test_private_attributes_are_those_listed() -> None:
    files = dict(_files_with_sqlalchemy())
    ours = {name for tree in files.values() for name in _own_names(tree)}
    found: dict[str, set[str]] = {}
    for path, tree in files.items():
        names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)} - ours
        private = {name for name in names if name.startswith("_") and not name.startswith("__")}
        if private:
            found[path] = private

    assert found == _PRIVATE_ATTRIBUTES


def test_undocumented_imports_are_those_listed() -> None:
    found: dict[str, set[str]] = {}
    for path, tree in _files_with_sqlalchemy():
        for module, name in _imports(tree):
            if module.startswith("sqlalchemy") and module not in _DOCUMENTED_MODULES:
                found.setdefault(path, set()).add(f"{module}.{name}")

    assert found == _UNDOCUMENTED_IMPORTS


def test_row_is_made_of_metadata_converters_index_and_values() -> None:
    metadata = SimpleResultMetaData(["name", "count"])
    converters: list[Any] = [str.upper, None]
    row: Row[Any] = Row(metadata, converters, metadata._key_to_index, ("a", 1))
    plain: Row[Any] = Row(metadata, None, metadata._key_to_index, ("a", 1))

    assert (row.name, list(row)) == ("A", ["A", 1])
    assert dict(row._mapping) == {"name": "A", "count": 1}
    assert list(plain) == ["a", 1]


def test_compiler_tells_binds_their_order_and_defaults() -> None:
    query = sa.select(_THINGS.c.id).where(_THINGS.c.id == sa.bindparam("wanted"), _THINGS.c.count > 3)
    on_sqlite = _compiled(query, _SQLITE)
    on_postgresql = _compiled(query, sa.create_engine("postgresql+psycopg2://").dialect)

    assert on_sqlite.positiontup == ["wanted", "count_1"]
    assert on_postgresql.positiontup is None
    assert on_sqlite.binds["wanted"].required is True
    assert (on_sqlite.binds["count_1"].required, on_sqlite.binds["count_1"].effective_value) == (False, 3)
    assert not any(bind.expanding for bind in on_sqlite.binds.values())


def test_compiler_marks_what_needs_another_text_at_each_run() -> None:
    listed = _compiled(sa.select(_THINGS.c.id).where(_THINGS.c.id.in_(sa.bindparam("ids", expanding=True))), _SQLITE)

    assert listed.binds["ids"].expanding
    assert _compiled(sa.insert(_THINGS), _SQLITE).insert_prefetch == [_THINGS.c.count]
    assert _compiled(sa.update(_THINGS).values(id="a"), _SQLITE).update_prefetch == [_THINGS.c.count]
    assert not _compiled(sa.select(_THINGS.c.id), _SQLITE).insert_prefetch


def test_insert_tells_whether_it_selects_its_rows() -> None:
    copied = sa.insert(_THINGS).from_select(["id"], sa.select(_THINGS.c.id))

    assert sa.insert(_THINGS).select is None
    assert copied.select is not None


def test_type_has_converters_for_a_dialect() -> None:
    kind = _THINGS.c.at.type.dialect_impl(_SQLITE)
    store, load = kind.bind_processor(_SQLITE), kind.result_processor(_SQLITE, None)

    assert store is not None
    assert load is not None
    assert load(store(_AT)) == _AT
    assert _THINGS.c.id.type.dialect_impl(_SQLITE).bind_processor(_SQLITE) is None


def test_engine_knows_whether_something_listens() -> None:
    engine = sa.create_engine("sqlite://")
    assert not engine.dispatch.before_cursor_execute

    sa.event.listen(engine, "before_cursor_execute", lambda *_: None)

    assert engine.dispatch.before_cursor_execute


def test_error_of_the_driver_becomes_its_own_kind() -> None:
    cause: Any = sqlite3.IntegrityError("twice")
    closed: Any = sqlite3.ProgrammingError("Cannot operate on a closed database.")
    error = sa.exc.DBAPIError.instance(
        "select 1", None, cause, _SQLITE.loaded_dbapi.Error, connection_invalidated=True, dialect=_SQLITE
    )

    assert not _SQLITE.is_disconnect(cause, None, None)
    assert isinstance(error, sa.exc.IntegrityError)
    assert error.orig is cause
    assert error.connection_invalidated
    assert _SQLITE.is_disconnect(closed, None, None)


@pytest.mark.parametrize("statement", [sa.insert(_THINGS), sa.update(_THINGS).returning(_THINGS.c.id)])
def test_statement_names_the_columns_that_it_returns(statement: sa.Insert | sa.Update) -> None:
    returned = [] if isinstance(statement, sa.Insert) else ["id"]

    assert [str(key) for key, _ in statement.exported_columns.items()] == returned

"""Statements that are built once and narrowed to the workspace of the scope that runs them.

Building a statement costs several times what running it does, so a statement of every step is a constant of its
module. Values come by name: `scope.first(_GET, turn=turn_id)` for `statements.select(turns).where(turns.c.id ==
sa.bindparam("turn"))`. A value of an update may not be named like a column of its table.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

SCOPE = "loopwright_scope"
"""The execution option that names the workspace to which a statement is narrowed."""
ANY = "whichever runs it"
"""The option's value for a statement that gets its workspace at each run; no id has spaces."""
WORKSPACE = "scope_workspace_id"
"""The name of the parameter that holds that workspace."""


def select(*what: sa.Table | sa.ColumnElement[Any] | sa.Label[Any]) -> sa.Select[Any]:
    """Select from the tables of `what`, each narrowed to the workspace of the run."""
    return narrow_select(sa.select(*what), sa.bindparam(WORKSPACE)).execution_options(**{SCOPE: ANY})


def update(table: sa.Table) -> sa.Update:
    return sa.update(table).where(table.c.workspace_id == sa.bindparam(WORKSPACE)).execution_options(**{SCOPE: ANY})


def delete(table: sa.Table) -> sa.Delete:
    return sa.delete(table).where(table.c.workspace_id == sa.bindparam(WORKSPACE)).execution_options(**{SCOPE: ANY})


def narrow_select(statement: sa.Select[Any], workspace: Any) -> sa.Select[Any]:
    """Add a condition to each table of the statement: its workspace is `workspace`."""
    for clause in statement.columns_clause_froms:
        for table in _tables_in(clause):
            statement = statement.where(table.c.workspace_id == workspace)
    return statement


def one_of(column: sa.ColumnElement[str], *values: str) -> sa.ColumnElement[bool]:
    """Compare a column with a few fixed values; `in_` would need a new text at each run."""
    return sa.or_(*(column == value for value in values))


@cache
def insert(table: sa.Table, columns: tuple[str, ...]) -> sa.Insert:
    """Return the insert for rows with these columns."""
    return sa.insert(table)


@cache
def insert_or_nothing(table: sa.Table, columns: tuple[str, ...], dialect: str) -> sa.Insert:
    """Return the insert for rows with these columns that does nothing if a unique column has the value already."""
    if dialect == "postgresql":
        return postgresql.insert(table).on_conflict_do_nothing()
    return sqlite.insert(table).on_conflict_do_nothing()


def _tables_in(clause: sa.FromClause) -> Iterator[sa.Table]:
    if isinstance(clause, sa.Table):
        yield clause
    elif isinstance(clause, sa.Join):
        yield from _tables_in(clause.left)
        yield from _tables_in(clause.right)

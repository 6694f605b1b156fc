"""Statements that are built once and run in the scope of whoever runs them.

Building a statement costs several times what running it does, so what every step of an agent asks is a constant of
its module. Values come by name: `scope.first(_GET, turn=turn_id)` for `statements.select(turns).where(turns.c.id ==
sa.bindparam("turn"))`. A value of an update may not be named like a column of its table.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql.dml import Delete, Insert, Update

SCOPE = "loopwright_scope"
"""The execution option that names the workspace a statement is narrowed to."""
ANY = "whichever runs it"
"""The option's value for a statement whose workspace is a value of each run; no id has spaces."""
WORKSPACE = "scope_workspace_id"
"""The name of that value."""


def select(*what: sa.Table | sa.ColumnElement[Any] | sa.Label[Any]) -> sa.Select[Any]:
    """Select from the tables named by `what`, every one of them narrowed to the workspace of the run."""
    return narrowed(sa.select(*what), sa.bindparam(WORKSPACE)).execution_options(**{SCOPE: ANY})


def update(table: sa.Table) -> Update:
    return sa.update(table).where(table.c.workspace_id == sa.bindparam(WORKSPACE)).execution_options(**{SCOPE: ANY})


def delete(table: sa.Table) -> Delete:
    return sa.delete(table).where(table.c.workspace_id == sa.bindparam(WORKSPACE)).execution_options(**{SCOPE: ANY})


def narrowed(statement: sa.Select[Any], workspace: Any) -> sa.Select[Any]:
    """The statement with a condition on each of its tables that its workspace is `workspace`."""
    for clause in statement.columns_clause_froms:
        for table in _tables_in(clause):
            statement = statement.where(table.c.workspace_id == workspace)
    return statement


def one_of(column: sa.ColumnElement[str], *values: str) -> sa.ColumnElement[bool]:
    """Whether a column holds one of some fixed values; `in_` would put its list together anew at each run."""
    return sa.or_(*(column == value for value in values))


@cache
def insert(table: sa.Table, columns: tuple[str, ...]) -> Insert:
    """An insert for rows that name these columns."""
    return sa.insert(table)


@cache
def insert_or_nothing(table: sa.Table, columns: tuple[str, ...], dialect: str) -> Insert:
    """An insert for rows that name these columns, which a row with the same unique columns makes do nothing."""
    if dialect == "postgresql":
        return postgresql.insert(table).on_conflict_do_nothing()
    return sqlite.insert(table).on_conflict_do_nothing()


def _tables_in(clause: sa.FromClause) -> Iterator[sa.Table]:
    if isinstance(clause, sa.Table):
        yield clause
    elif isinstance(clause, sa.Join):
        yield from _tables_in(clause.left)
        yield from _tables_in(clause.right)

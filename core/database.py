"""The database, reachable only through a workspace's scope."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection, Row
from sqlalchemy.sql.dml import Delete, Insert, Update

from core import crash
from core.bells import Bell, Bells, SilentBells
from core.clock import Clock, SystemClock
from core.ids import Ids, RandomIds
from core.tables import changes, workspaces

_SCOPE = "loopwright_scope"


class UnscopedStatementError(TypeError):
    """A statement on a workspace's table that was not made by its scope; a programming error."""


class Scope:
    """One transaction inside one workspace.

    Statements are begun with `select`, `update` or `delete`, which carry the workspace in them; any other
    statement is refused. What `changed` and `ring` name is written at the end of the transaction and rung
    after its commit.
    """

    def __init__(self, connection: Connection, workspace_id: str, now: datetime, ids: Ids) -> None:
        self._connection = connection
        self.workspace_id = workspace_id
        self.now = now
        self.ids = ids
        self.bells: list[Bell] = []
        self._changes: dict[tuple[str, str], None] = {}

    def select(self, *what: sa.Table | sa.ColumnElement[Any] | sa.Label[Any]) -> sa.Select[Any]:
        """Select from the tables named by `what`, every one of them narrowed to this workspace."""
        statement = sa.select(*what)
        for table in statement.columns_clause_froms:
            for narrow in _tables_in(table):
                statement = statement.where(narrow.c.workspace_id == self.workspace_id)
        return statement.execution_options(**{_SCOPE: self.workspace_id})

    def update(self, table: sa.Table) -> Update:
        return (
            sa.update(table)
            .where(table.c.workspace_id == self.workspace_id)
            .execution_options(**{_SCOPE: self.workspace_id})
        )

    def delete(self, table: sa.Table) -> Delete:
        return (
            sa.delete(table)
            .where(table.c.workspace_id == self.workspace_id)
            .execution_options(**{_SCOPE: self.workspace_id})
        )

    def insert(self, table: sa.Table, **values: Any) -> None:
        self._connection.execute(sa.insert(table).values(workspace_id=self.workspace_id, **values))

    def insert_new(self, table: sa.Table, **values: Any) -> bool:
        """Insert unless a unique constraint says it is there already; tells whether a row was added."""
        statement = _insert_or_nothing(self._connection, table).values(workspace_id=self.workspace_id, **values)
        return self._connection.execute(statement).rowcount == 1

    def rows(self, statement: sa.Select[Any]) -> list[Row[Any]]:
        return list(self._run(statement).all())

    def first(self, statement: sa.Select[Any]) -> Row[Any] | None:
        return self._run(statement).first()

    def scalar(self, statement: sa.Select[Any]) -> Any:
        return self._run(statement).scalar()

    def change(self, statement: Update | Delete) -> int:
        """Run an update or delete; answers how many rows it met."""
        return self._run(statement).rowcount

    def changed(self, kind: str, thing_id: str) -> None:
        """Note that a thing changed; one entry a thing and transaction, in the order first named."""
        self._changes[(kind, thing_id)] = None

    def ring(self, bell: Bell) -> None:
        """Ring after the commit. Nothing depends on its being heard: the watch rings again."""
        self.bells.append(bell)

    def _run(self, statement: sa.Select[Any] | Update | Delete) -> sa.CursorResult[Any]:
        if statement.get_execution_options().get(_SCOPE) != self.workspace_id:
            raise UnscopedStatementError(f"begin with scope.select/update/delete: {statement}")
        return self._connection.execute(statement)

    def _write_changes(self) -> None:
        if not self._changes:
            return
        count = len(self._changes)
        statement = (
            sa.update(workspaces)
            .where(workspaces.c.id == self.workspace_id)
            .values(change_seq=workspaces.c.change_seq + count)
            .returning(workspaces.c.change_seq)
        )
        last = self._connection.execute(statement).scalar_one()
        entries = [
            {"workspace_id": self.workspace_id, "seq": last - count + n, "kind": kind, "id": thing_id, "at": self.now}
            for n, (kind, thing_id) in enumerate(self._changes, start=1)
        ]
        self._connection.execute(sa.insert(changes), entries)


def _tables_in(clause: sa.FromClause) -> Iterator[sa.Table]:
    if isinstance(clause, sa.Table):
        yield clause
    elif isinstance(clause, sa.Join):
        yield from _tables_in(clause.left)
        yield from _tables_in(clause.right)


def _insert_or_nothing(connection: Connection, table: sa.Table) -> Insert:
    if connection.dialect.name == "postgresql":
        return postgresql.insert(table).on_conflict_do_nothing()
    return sqlite.insert(table).on_conflict_do_nothing()


class Database:
    """Transactions on one SQLite file or PostgreSQL database."""

    def __init__(
        self,
        url: str,
        *,
        clock: Clock | None = None,
        ids: Ids | None = None,
        bells: Bells | None = None,
        pool_size: int = 20,
    ) -> None:
        self.url = url
        self._clock = clock or SystemClock()
        self._ids = ids or RandomIds()
        self._bells = bells or SilentBells()
        self._writer = _engine(url, pool_size, immediate=True)
        # On PostgreSQL a transaction sees one state from its beginning to its end only at this level.
        self._reader = (
            _engine(url, pool_size, immediate=False)
            if url.startswith("sqlite")
            else self._writer.execution_options(isolation_level="REPEATABLE READ")
        )

    @property
    def clock(self) -> Clock:
        return self._clock

    @property
    def ids(self) -> Ids:
        return self._ids

    @contextmanager
    def transaction(self, workspace_id: str, name: str = "transaction") -> Iterator[Scope]:
        """A write transaction; commits at the end of the block, then rings its bells. Tests crash it by its name."""
        with self._writer.begin() as connection:
            scope = Scope(connection, workspace_id, self._clock.now(), self._ids)
            yield scope
            scope._write_changes()
            crash.point(name, "before_commit")
        crash.point(name, "after_commit")
        for bell in scope.bells:
            self._bells.ring(bell)

    @contextmanager
    def reading(self, workspace_id: str) -> Iterator[Scope]:
        """A read transaction: one consistent view, never waits for a writer on SQLite."""
        with self._reader.connect() as connection:
            yield Scope(connection, workspace_id, self._clock.now(), self._ids)

    @contextmanager
    def unscoped(self) -> Iterator[Connection]:
        """A write transaction outside any workspace: identity, leases and migrations only; a test lists the callers."""
        with self._writer.begin() as connection:
            yield connection

    @contextmanager
    def reading_unscoped(self) -> Iterator[Connection]:
        """Like `unscoped`, but only for looking: it waits for no writer on SQLite."""
        with self._reader.connect() as connection:
            yield connection

    def workspace_ids(self) -> list[str]:
        """Every workspace, for a pass that then opens each one's scope."""
        with self._reader.connect() as connection:
            return list(connection.execute(sa.select(workspaces.c.id).order_by(workspaces.c.id)).scalars())

    def close(self) -> None:
        self._writer.dispose()
        self._reader.dispose()


def _engine(url: str, pool_size: int, *, immediate: bool) -> sa.Engine:
    if not url.startswith("sqlite"):
        return sa.create_engine(url, pool_size=pool_size, max_overflow=pool_size, pool_pre_ping=True)
    engine = sa.create_engine(url, pool_size=pool_size, max_overflow=pool_size, connect_args={"timeout": 30})
    begin = "BEGIN IMMEDIATE" if immediate else "BEGIN"

    @sa.event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: Any) -> None:
        # The driver's own transactions begin deferred; such a one that reads first fails at once if another commits.
        connection.isolation_level = None
        cursor = connection.cursor()
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "busy_timeout=30000", "foreign_keys=ON"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine

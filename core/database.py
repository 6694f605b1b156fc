"""The database: transactions, and the scope of one workspace through which its tables are reached."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from core.clock import Clock, SystemClock
from core.events import Bell, Bells, SilentBells
from core.ids import Ids, RandomIds
from core.process import crash
from core.sql import statements
from core.sql.compiled import StatementResult, run_once, run_statement
from core.sql.connections import Connections
from core.tables import changes, workspaces

_IDLE_LIMIT_S = 1.0
"""A connection that was idle for longer is checked before it is used."""
_ADVANCE = (
    sa.update(workspaces)
    .where(workspaces.c.id == sa.bindparam("workspace"))
    .values(change_seq=workspaces.c.change_seq + sa.bindparam("count", type_=workspaces.c.change_seq.type))
    .returning(workspaces.c.change_seq)
)
_advanced = (
    sa.update(workspaces)
    .where(workspaces.c.id == sa.bindparam("workspace"))
    .values(change_seq=workspaces.c.change_seq + 1)
    .returning(workspaces.c.id, workspaces.c.change_seq)
    .cte("advanced")
)
_ADVANCE_AND_INSERT = sa.insert(changes).from_select(
    ["workspace_id", "seq", "kind", "id", "at"],
    sa.select(
        _advanced.c.id,
        _advanced.c.change_seq,
        sa.cast(sa.bindparam("changed_kind"), changes.c.kind.type),
        sa.cast(sa.bindparam("changed_id"), changes.c.id.type),
        sa.cast(sa.bindparam("now"), changes.c.at.type),
    ),
)
"""Count one change and insert it, in one round trip to PostgreSQL; SQLite cannot, and has no round trips to save."""
_ZONE = sa.select(workspaces.c.timezone).where(workspaces.c.id == sa.bindparam("workspace"))


class UnscopedStatementError(TypeError):
    """A programming error: a statement that was not begun with the scope that runs it."""


class Scope:
    """One transaction inside one workspace.

    A statement is begun with `select`, `update` or `delete` of the scope, which restrict it to the workspace, or of
    `core.sql.statements`, which take the workspace from the scope that runs them. Any other statement is refused.
    Changes noted with `changed` are written at the end of the transaction; bells of `ring` are sent after the commit.
    """

    def __init__(self, connection: Connection, workspace_id: str, now: datetime, ids: Ids) -> None:
        self._connection = connection
        self.workspace_id = workspace_id
        self.now = now
        self.ids = ids
        self.bells: list[Bell] = []
        self._changes: dict[tuple[str, str], None] = {}
        self._zone: ZoneInfo | None = None

    def select(self, *what: sa.Table | sa.ColumnElement[Any] | sa.Label[Any]) -> sa.Select[Any]:
        """Begin a select of these tables or columns, restricted to this workspace."""
        statement = statements.narrow_select(sa.select(*what), self.workspace_id)
        return statement.execution_options(**{statements.SCOPE: self.workspace_id})

    def update(self, table: sa.Table) -> sa.Update:
        """Begin an update of this workspace's rows."""
        return (
            sa.update(table)
            .where(table.c.workspace_id == self.workspace_id)
            .execution_options(**{statements.SCOPE: self.workspace_id})
        )

    def delete(self, table: sa.Table) -> sa.Delete:
        """Begin a delete of this workspace's rows."""
        return (
            sa.delete(table)
            .where(table.c.workspace_id == self.workspace_id)
            .execution_options(**{statements.SCOPE: self.workspace_id})
        )

    def insert(self, table: sa.Table, **values: Any) -> None:
        """Insert a row into this workspace.

        PostgreSQL gets it with the next statement or the commit, and an error of it comes from there.
        """
        row = {**values, "workspace_id": self.workspace_id}
        run_statement(self._connection, statements.insert(table, tuple(row)), row, later=True)

    def insert_all(self, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> None:
        """Insert rows that all have the same columns."""
        if rows:
            self._insert_each(table, [{**row, "workspace_id": self.workspace_id} for row in rows])

    def insert_new(self, table: sa.Table, **values: Any) -> bool:
        """Insert a row unless a unique constraint forbids it; return whether it was inserted."""
        row = {**values, "workspace_id": self.workspace_id}
        statement = statements.insert_or_nothing(table, tuple(row), self._connection.dialect.name)
        return run_statement(self._connection, statement, row).rowcount == 1

    def rows(self, statement: sa.Select[Any] | sa.Update, **values: Any) -> list[Row[Any]]:
        """Run a select, or an update that returns columns, and return all rows."""
        return list(self._run(statement, values).all())

    def first(self, statement: sa.Select[Any] | sa.Update, **values: Any) -> Row[Any] | None:
        """Run a statement and return its first row."""
        return self._run(statement, values).first()

    def scalar(self, statement: sa.Select[Any], **values: Any) -> Any:
        """Run a select and return the first column of its first row."""
        return self._run(statement, values).scalar()

    def change(self, statement: sa.Update | sa.Delete, **values: Any) -> int:
        """Run an update or delete and return the number of rows that it matched."""
        return self._run(statement, values).rowcount

    def changed(self, kind: str, thing_id: str) -> None:
        """Note that a thing changed, for the list of changes; each thing is listed once per transaction."""
        self._changes[(kind, thing_id)] = None

    def read_time_zone(self) -> ZoneInfo:
        """Read the time zone in which the workspace counts its days."""
        if self._zone is None:
            name = run_statement(self._connection, _ZONE, {"workspace": self.workspace_id}).scalar()
            self._zone = ZoneInfo(str(name))
        return self._zone

    def ring(self, bell: Bell) -> None:
        """Send a bell after the commit. Nothing depends on its arrival, since the watch rings it again."""
        self.bells.append(bell)

    def _run(self, statement: sa.Select[Any] | sa.Update | sa.Delete, values: dict[str, Any]) -> StatementResult:
        scope = statement.get_execution_options().get(statements.SCOPE)
        if scope == statements.ANY:
            values[statements.WORKSPACE] = self.workspace_id
            return run_statement(self._connection, statement, values)
        if scope != self.workspace_id:
            raise UnscopedStatementError(f"begin with scope.select/update/delete: {statement}")
        return run_once(self._connection, statement, values)

    def _write_changes(self) -> None:
        if not self._changes:
            return
        if len(self._changes) == 1 and self._connection.dialect.name == "postgresql":
            ((kind, thing_id),) = self._changes
            entry = {"workspace": self.workspace_id, "changed_kind": kind, "changed_id": thing_id, "now": self.now}
            run_statement(self._connection, _ADVANCE_AND_INSERT, entry, later=True)
            return
        count = len(self._changes)
        last = run_statement(self._connection, _ADVANCE, {"workspace": self.workspace_id, "count": count}).scalar()
        entries = [
            {"workspace_id": self.workspace_id, "seq": last - count + n, "kind": kind, "id": thing_id, "at": self.now}
            for n, (kind, thing_id) in enumerate(self._changes, start=1)
        ]
        self._insert_each(changes, entries)

    def _insert_each(self, table: sa.Table, rows: list[dict[str, Any]]) -> None:
        # With a list of rows SQLAlchemy builds the statement again each time, so a single row takes the short way.
        statement = statements.insert(table, tuple(rows[0]))
        if len(rows) == 1:
            run_statement(self._connection, statement, rows[0], later=True)
        else:
            run_once(self._connection, statement, rows)


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
        self._writer = _create_engine(url, pool_size)
        # On PostgreSQL, only this level shows a transaction one consistent state.
        self._reader = (
            _create_engine(url, pool_size)
            if url.startswith("sqlite")
            else self._writer.execution_options(isolation_level="REPEATABLE READ")
        )
        self._for_writing = Connections(self._writer, self._forget_connections)
        self._for_reading = Connections(self._reader, self._forget_connections)

    @property
    def clock(self) -> Clock:
        """The clock that dates every transaction."""
        return self._clock

    @property
    def ids(self) -> Ids:
        """The source of new ids."""
        return self._ids

    @contextmanager
    def transaction(self, workspace_id: str, name: str = "transaction") -> Iterator[Scope]:
        """Open a write transaction, committed at the end of the block; `name` is its name in crash points of tests."""
        with crash.writing(), self._for_writing.one() as connection, connection.begin():
            _begin(connection, "BEGIN IMMEDIATE")
            scope = Scope(connection, workspace_id, self._clock.now(), self._ids)
            yield scope
            scope._write_changes()
            crash.point(name, "before_commit")
        crash.point(name, "after_commit")
        for bell in scope.bells:
            self._bells.ring(bell)

    @contextmanager
    def reading(self, workspace_id: str) -> Iterator[Scope]:
        """Open a read transaction with one consistent view; on SQLite it never waits for a writer."""
        with self._for_reading.one() as connection:
            transaction = connection.begin()
            try:
                _begin(connection, "BEGIN")
                yield Scope(connection, workspace_id, self._clock.now(), self._ids)
            finally:
                transaction.rollback()

    @contextmanager
    def unscoped(self) -> Iterator[Connection]:
        """Open a write transaction outside any workspace, for identity, leases and so on; a test lists the callers."""
        with self._writer.begin() as connection:
            _begin(connection, "BEGIN IMMEDIATE")
            yield connection

    @contextmanager
    def reading_unscoped(self) -> Iterator[Connection]:
        """Open a read transaction outside any workspace; on SQLite it never waits for a writer."""
        with self._reading() as connection:
            yield connection

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with self._reader.connect() as connection:
            _begin(connection, "BEGIN")
            yield connection

    def workspace_ids(self) -> list[str]:
        """Return the ids of all workspaces, for a pass that opens the scope of each."""
        with self._reading() as connection:
            return list(connection.execute(sa.select(workspaces.c.id).order_by(workspaces.c.id)).scalars())

    def _forget_connections(self) -> None:
        self._for_writing.forget()
        self._for_reading.forget()

    def close(self) -> None:
        """Close all connections."""
        self._for_writing.close()
        self._for_reading.close()
        self._writer.dispose()
        self._reader.dispose()


def _begin(connection: Connection, statement: str) -> None:
    """Begin a transaction on SQLite, where the driver does not; PostgreSQL's driver begins by itself.

    SQLAlchemy's `begin` event would do the same, but having a listener slows every statement.
    """
    if connection.dialect.name != "sqlite":
        return
    driver: Any = connection.connection.dbapi_connection
    try:
        driver.execute(statement).close()
    except sqlite3.Error as error:
        raise sa.exc.OperationalError(statement, None, error) from error


def _check_idle_connections(engine: sa.Engine) -> None:
    """Check a connection before use when it was idle, since the server may have closed it."""

    @sa.event.listens_for(engine, "checkin")
    def _note_checkin(_connection: Any, record: Any) -> None:
        record.info["idle_since"] = time.monotonic()

    @sa.event.listens_for(engine, "checkout")
    def _check_checkout(connection: Any, record: Any, _proxy: Any) -> None:
        idle_since = record.info.get("idle_since")
        if idle_since is None or time.monotonic() - idle_since < _IDLE_LIMIT_S:
            return
        try:
            connection.ping()
        except engine.dialect.loaded_dbapi.Error as error:
            # On this error the pool opens another connection.
            raise sa.exc.DisconnectionError(f"the connection is lost: {type(error).__name__}") from None


def _create_engine(url: str, pool_size: int) -> sa.Engine:
    if not url.startswith("sqlite"):
        # Loads the PostgreSQL driver, which SQLite does not need.
        from core.sql.postgres_session import PostgresSession  # noqa: PLC0415

        engine = sa.create_engine(
            url,
            pool_size=pool_size,
            max_overflow=pool_size,
            connect_args={"connection_factory": PostgresSession},
            use_native_hstore=False,
        )
        _check_idle_connections(engine)
        return engine
    engine = sa.create_engine(url, pool_size=pool_size, max_overflow=pool_size, connect_args={"timeout": 30})

    @sa.event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: Any) -> None:
        # The driver begins transactions deferred: one that reads first fails when it writes after another commit.
        connection.isolation_level = None
        cursor = connection.cursor()
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "busy_timeout=30000", "foreign_keys=ON"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    return engine

"""A PostgreSQL session with fewer messages to the server.

The driver sends BEGIN alone and waits for its answer, then for that of each statement. Here BEGIN goes with the first
statement of a transaction, and statements whose result is not needed (`later`) go with the next one or with COMMIT, in
one message. The server runs them in order. If it refuses one, the whole message fails, and with it the transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from psycopg2 import Error, extensions
from psycopg2.errors import InFailedSqlTransaction

from core.sql.session_statements import SESSION_SETTINGS, SessionStatement

_Values = Mapping[str, Any] | Sequence[Any] | None
_BEGIN = {
    extensions.ISOLATION_LEVEL_AUTOCOMMIT: b"",
    extensions.ISOLATION_LEVEL_READ_COMMITTED: b"BEGIN ISOLATION LEVEL READ COMMITTED",
    extensions.ISOLATION_LEVEL_REPEATABLE_READ: b"BEGIN ISOLATION LEVEL REPEATABLE READ",
    extensions.ISOLATION_LEVEL_SERIALIZABLE: b"BEGIN ISOLATION LEVEL SERIALIZABLE",
    extensions.ISOLATION_LEVEL_READ_UNCOMMITTED: b"BEGIN ISOLATION LEVEL READ UNCOMMITTED",
}


class PostgresSession(extensions.connection):
    """A connection of psycopg2, for its `connection_factory`, which begins and ends transactions itself."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        super().set_session(autocommit=True)
        self.cursor_factory = _Cursor
        self._begin = _BEGIN[extensions.ISOLATION_LEVEL_READ_COMMITTED]
        self._waiting: list[bytes] = []
        self._send(SESSION_SETTINGS.encode())

    def later(self, sql: str, values: _Values = None) -> None:
        """Run a statement of this transaction with the next one or with COMMIT; its result is lost."""
        with self.cursor() as cursor:
            self._waiting.append(cursor.mogrify(sql, values))

    def take_waiting(self) -> list[bytes]:
        """Take what must be sent before the next statement: BEGIN, if none was sent, and what came `later`."""
        ahead = self._waiting
        if self._begin and self.get_transaction_status() == extensions.TRANSACTION_STATUS_IDLE:
            ahead = [self._begin, *ahead]
        self._waiting = []
        return ahead

    def commit(self) -> None:
        """Commit; raise the driver's error if the server refused a statement, now or before, and undo everything."""
        status = self.get_transaction_status()
        if status == extensions.TRANSACTION_STATUS_INERROR:
            self.rollback()
            raise InFailedSqlTransaction("a statement of the transaction had failed, so all of it was undone")
        if self._waiting or status != extensions.TRANSACTION_STATUS_IDLE:
            try:
                self._send(*self.take_waiting(), b"COMMIT")
            except Error:
                self._undo_failed()
                raise

    def rollback(self) -> None:
        self._waiting = []
        if self.get_transaction_status() != extensions.TRANSACTION_STATUS_IDLE:
            self._send(b"ROLLBACK")

    def set_isolation_level(self, level: int | None) -> None:
        """Set the level of later transactions and roll back an open one, as the driver's own method does."""
        self.rollback()
        self._begin = _BEGIN[extensions.ISOLATION_LEVEL_READ_COMMITTED if level is None else level]

    def ping(self) -> None:
        """Raise the driver's error if the server does not answer."""
        self._send(b"SELECT 1")

    def _undo_failed(self) -> None:
        if self.get_transaction_status() == extensions.TRANSACTION_STATUS_INERROR:
            self._send(b"ROLLBACK")

    def _send(self, *statements: bytes) -> None:
        with _Cursor(self) as cursor:
            cursor.send(statements)


class _Cursor(extensions.cursor):
    """A cursor that sends what waits in its session ahead of its statement."""

    connection: PostgresSession

    def execute(self, query: Any, vars: _Values = None) -> None:
        ahead = self.connection.take_waiting()
        if ahead:
            self.send([*ahead, self.mogrify(query, vars)])
        else:
            self._run(query, vars)

    def executemany(self, query: Any, vars_list: Any) -> None:
        ahead = self.connection.take_waiting()
        if ahead:
            self.send(ahead)
        super().executemany(query, vars_list)

    def send(self, statements: Sequence[bytes]) -> None:
        """Send statements in one message; the cursor then holds the result of the last."""
        self._run(b"; ".join(statements))

    def _run(self, query: Any, values: _Values = None) -> None:
        try:
            super().execute(query, values)
        except Error as error:
            SessionStatement.note_failure(error.pgcode)
            raise

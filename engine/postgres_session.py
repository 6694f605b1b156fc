"""A PostgreSQL session that goes to its server as seldom as it can.

The driver sends BEGIN by itself, waits for its answer, and then waits for each statement's. Here BEGIN goes with the
first statement of a transaction, and statements whose answer nobody needs (`later`) go with the next one or with
COMMIT, as one message. The server carries them out one after the other; what it refuses fails the message that took it
along, and with it the transaction.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from psycopg2 import Error, extensions
from psycopg2.errors import InFailedSqlTransaction

from engine.planned import PLANS_LAST, Planned

_Values = Mapping[str, Any] | Sequence[Any] | None
_BEGIN = {
    extensions.ISOLATION_LEVEL_AUTOCOMMIT: b"",
    extensions.ISOLATION_LEVEL_READ_COMMITTED: b"BEGIN ISOLATION LEVEL READ COMMITTED",
    extensions.ISOLATION_LEVEL_REPEATABLE_READ: b"BEGIN ISOLATION LEVEL REPEATABLE READ",
    extensions.ISOLATION_LEVEL_SERIALIZABLE: b"BEGIN ISOLATION LEVEL SERIALIZABLE",
    extensions.ISOLATION_LEVEL_READ_UNCOMMITTED: b"BEGIN ISOLATION LEVEL READ UNCOMMITTED",
}


class Session(extensions.connection):
    """A connection of the driver's kind, for SQLAlchemy's `connection_factory`. Its transactions are its own."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        super().set_session(autocommit=True)
        self.cursor_factory = _Cursor
        self._begin = _BEGIN[extensions.ISOLATION_LEVEL_READ_COMMITTED]
        self._waiting: list[bytes] = []
        self._send(PLANS_LAST.encode())

    def later(self, sql: str, values: _Values = None) -> None:
        """Run a statement of this transaction whose answer nobody needs, together with the next one or with COMMIT."""
        with self.cursor() as cursor:
            self._waiting.append(cursor.mogrify(sql, values))

    def before(self) -> list[bytes]:
        """What has to go before a statement that goes now."""
        ahead = self._waiting
        if self._begin and self.get_transaction_status() == extensions.TRANSACTION_STATUS_IDLE:
            ahead = [self._begin, *ahead]
        self._waiting = []
        return ahead

    def commit(self) -> None:
        """Raises the driver's error where a statement was refused, now or before; then all is undone."""
        status = self.get_transaction_status()
        if status == extensions.TRANSACTION_STATUS_INERROR:
            self.rollback()
            raise InFailedSqlTransaction("a statement of the transaction had failed, so that all of it was undone")
        if self._waiting or status != extensions.TRANSACTION_STATUS_IDLE:
            try:
                self._send(*self.before(), b"COMMIT")
            except Error:
                self._undo_where_failed()
                raise

    def rollback(self) -> None:
        self._waiting = []
        if self.get_transaction_status() != extensions.TRANSACTION_STATUS_IDLE:
            self._send(b"ROLLBACK")

    def set_isolation_level(self, level: int | None) -> None:
        """Of the transactions to come; one that is open is undone, as by the driver's own."""
        self.rollback()
        self._begin = _BEGIN[extensions.ISOLATION_LEVEL_READ_COMMITTED if level is None else level]

    def ping(self) -> None:
        """Ask the server for a sign of life; raises the driver's error where there is none."""
        self._send(b"SELECT 1")

    def _undo_where_failed(self) -> None:
        if self.get_transaction_status() == extensions.TRANSACTION_STATUS_INERROR:
            self._send(b"ROLLBACK")

    def _send(self, *statements: bytes) -> None:
        with _Cursor(self) as cursor:
            cursor.send(statements)


class _Cursor(extensions.cursor):
    connection: Session

    def execute(self, query: Any, vars: _Values = None) -> None:
        ahead = self.connection.before()
        if ahead:
            self.send([*ahead, self.mogrify(query, vars)])
        else:
            self._run(query, vars)

    def executemany(self, query: Any, vars_list: Any) -> None:
        ahead = self.connection.before()
        if ahead:
            self.send(ahead)
        super().executemany(query, vars_list)

    def send(self, statements: Sequence[bytes]) -> None:
        """All of them in one message; the cursor then holds the answer to the last."""
        self._run(b"; ".join(statements))

    def _run(self, query: Any, values: _Values = None) -> None:
        try:
            super().execute(query, values)
        except Error as error:
            Planned.failed(error.pgcode)
            raise

"""Keep database connections open between transactions.

SQLAlchemy's own checkout and return cost much, and a step with several transactions would pay them each time.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import sqlalchemy as sa
from sqlalchemy.engine import Connection

_LONGEST_REST = 1.0
"""Seconds after which a resting connection goes back to the pool, which checks it: the server may have closed it."""
_MOST_RESTING = 8


class Connections:
    """Open connections of one engine, each lent to one thread at a time, the one that was used last first."""

    def __init__(self, engine: sa.Engine, lost: Callable[[], None]) -> None:
        self._engine = engine
        self._lost = lost
        self._resting: deque[tuple[Connection, float]] = deque()

    @contextmanager
    def one(self) -> Iterator[Connection]:
        """Lend a connection for a block that begins and ends one transaction; after an error it is not kept.

        Where the connection was lost, others probably are too, so `lost` is called, which must `forget` them all.
        """
        connection = self._take()
        try:
            yield connection
        except BaseException:
            is_lost = connection.invalidated
            connection.close()
            if is_lost:
                self._lost()
            raise
        if len(self._resting) < _MOST_RESTING:
            self._resting.append((connection, time.monotonic()))
        else:
            connection.close()

    def forget(self) -> None:
        """Close every resting connection, here and in the pool, since the server may have closed them."""
        with suppress(IndexError):
            while True:
                connection, _ = self._resting.pop()
                connection.invalidate()
                connection.close()
        self._engine.dispose()

    def close(self) -> None:
        """Give the resting connections back to the pool."""
        with suppress(IndexError):
            while True:
                self._resting.pop()[0].close()

    def _take(self) -> Connection:
        while True:
            try:
                connection, since = self._resting.pop()
            except IndexError:
                return self._engine.connect()
            if time.monotonic() - since < _LONGEST_REST and not connection.invalidated:
                return connection
            connection.close()

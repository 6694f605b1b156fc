"""The SQLite file of a stand-in, separate from the product's database."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class StandinStore:
    """A database with a connection for each transaction; writers begin IMMEDIATE.

    One more connection stays open, so that closing the others never checkpoints. Committed data survives SIGKILL.
    """

    def __init__(self, path: Path, schema: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._keeper = self._connect()
        self._keeper.execute("PRAGMA journal_mode = WAL")
        self._keeper.executescript(schema)

    @contextmanager
    def begin(self) -> Iterator[sqlite3.Connection]:
        """A write transaction: committed when the block ends, rolled back when it raises."""
        connection = self._connect()
        try:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.commit()
        finally:
            connection.close()

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """A connection to read from; each statement sees the newest commit."""
        connection = self._connect()
        try:
            yield connection
        finally:
            connection.close()

    def close(self) -> None:
        self._keeper.close()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=30, isolation_level=None, check_same_thread=False)
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA synchronous = FULL")
        return connection

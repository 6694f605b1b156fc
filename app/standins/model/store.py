"""The stand-in's own SQLite file: what it was asked and answered, and what it was told to do wrong."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SCHEMA = """
CREATE TABLE IF NOT EXISTS requests (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL,
    request TEXT NOT NULL,
    answer TEXT
);
CREATE TABLE IF NOT EXISTS faults (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    argument TEXT NOT NULL,
    times INTEGER NOT NULL,
    thread TEXT
);
CREATE TABLE IF NOT EXISTS recorded (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    answer TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS replay (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    given INTEGER NOT NULL,
    unexpected INTEGER NOT NULL
);
"""


class Store:
    """A connection for each transaction; writers begin IMMEDIATE. A connection that stays open keeps the WAL alive."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / "model.sqlite"
        self._keeper = self._connect()
        self._keeper.execute("PRAGMA journal_mode = WAL")
        self._keeper.executescript(SCHEMA)

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
        return connection

"""The studio's database: one SQLite file in its folder, written in transactions that begin IMMEDIATE."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SCHEMA = """
CREATE TABLE IF NOT EXISTS jobs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    idempotency_key TEXT NOT NULL UNIQUE,
    digest TEXT NOT NULL,
    kind TEXT NOT NULL,
    request TEXT NOT NULL,
    state TEXT NOT NULL,
    progress REAL NOT NULL DEFAULT 0,
    outputs TEXT NOT NULL DEFAULT '[]',
    amount TEXT,
    error TEXT,
    faults TEXT NOT NULL DEFAULT '[]',
    claimed INTEGER NOT NULL DEFAULT 0,
    starts INTEGER NOT NULL DEFAULT 0,
    sequence INTEGER NOT NULL DEFAULT 0,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS jobs_by_state ON jobs (state, number);
CREATE TABLE IF NOT EXISTS bill (
    job_id TEXT PRIMARY KEY REFERENCES jobs (id),
    idempotency_key TEXT NOT NULL,
    kind TEXT NOT NULL,
    amount TEXT NOT NULL,
    currency TEXT NOT NULL,
    at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS outputs (sha256 TEXT PRIMARY KEY, media_type TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS callbacks (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id TEXT NOT NULL,
    url TEXT NOT NULL,
    body TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    next_at REAL NOT NULL DEFAULT 0,
    state TEXT NOT NULL DEFAULT 'pending'
);
CREATE INDEX IF NOT EXISTS callbacks_by_state ON callbacks (state, next_at, number);
CREATE TABLE IF NOT EXISTS faults (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    argument TEXT NOT NULL,
    times_left INTEGER,
    kind TEXT
);
"""


class Store:
    """Opens one connection per transaction; a connection of its own stays open so that closing one never
    checkpoints."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / "studio.sqlite"
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

"""The studio's database: one SQLite file in its folder, written in transactions that begin IMMEDIATE."""

from pathlib import Path

from app.standins.store import Store

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


def open_store(folder: Path) -> Store:
    return Store(folder / "studio.sqlite", SCHEMA)

"""The stand-in's own SQLite file: what it was asked and answered, and what it was told to do wrong."""

from __future__ import annotations

from pathlib import Path

from app.standins.store import Store

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
    unexpected INTEGER NOT NULL,
    thread TEXT
);
"""


def open_store(folder: Path) -> Store:
    return Store(folder / "model.sqlite", SCHEMA)

"""SQLite databases, copied while they are used."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path


def copy_database(source: Path, target: Path) -> None:
    """A copy as of one moment; whoever writes meanwhile is neither held up nor torn."""
    with (
        closing(sqlite3.connect(f"file:{source}?mode=ro", uri=True)) as reading,
        closing(sqlite3.connect(target)) as writing,
    ):
        reading.backup(writing)
        # One file, without the journal files that a copy would leave beside it.
        writing.execute("PRAGMA journal_mode=DELETE")


def damage(database: Path) -> str | None:
    """What SQLite finds wrong with it; None when nothing."""
    try:
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
            found = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.DatabaseError as error:
        return str(error)
    return None if found == "ok" else found

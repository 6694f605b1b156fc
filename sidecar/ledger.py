"""What must outlive the sidecar: which version of a skill serves, and which run began on which version."""

from __future__ import annotations

import sqlite3
import threading
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

_SCHEMA = """
create table if not exists skills (
    stem text primary key, number integer not null, sha text not null, source text not null, retired integer not null
);
create table if not exists pins (
    run_id text primary key, stem text not null, sha text not null, called_at real not null
);
create index if not exists pins_of_version on pins (stem, sha);
"""


@dataclass(frozen=True)
class Kept:
    """The last version of a skill that served; `number` counts its versions from one.

    `told` is whether the engine heard that it is retired.
    """

    stem: str
    number: int
    sha: str
    source: str
    retired: bool = False
    told: bool = False


@dataclass(frozen=True)
class Pin:
    run_id: str
    stem: str
    sha: str


class Ledger:
    """One SQLite file; every method is one transaction and may be called from any thread."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "busy_timeout=10000"):
            self._db.execute(f"pragma {pragma}")
        self._db.executescript(_SCHEMA)

    def kept(self) -> dict[str, Kept]:
        with self._lock:
            rows = self._db.execute("select stem, number, sha, source, retired from skills").fetchall()
        return {row[0]: Kept(row[0], row[1], row[2], row[3], row[4] > 0, row[4] > 1) for row in rows}

    def serve(self, stem: str, sha: str, source: str) -> Kept:
        """Another version serves from now on: its number is the last one plus one."""
        statement = """
            insert into skills (stem, number, sha, source, retired) values (?, 1, ?, ?, 0)
            on conflict (stem) do update set
                number = number + 1, sha = excluded.sha, source = excluded.source, retired = 0
            returning number"""
        with self._lock:
            number = self._db.execute(statement, (stem, sha, source)).fetchone()[0]
        return Kept(stem, number, sha, source)

    def retire(self, stem: str, *, told: bool) -> None:
        """The skill serves no more; `told`: and the engine knows."""
        with self._lock:
            self._db.execute("update skills set retired = ? where stem = ?", (2 if told else 1, stem))

    def pin(self, run_id: str, stem: str, sha: str | None, now: datetime) -> str | None:
        """The version the run began on: the one it has, else `sha` from now on, else None."""
        with self._lock:
            if sha is not None:
                self._db.execute(
                    "insert or ignore into pins (run_id, stem, sha, called_at) values (?, ?, ?, ?)",
                    (run_id, stem, sha, now.timestamp()),
                )
            update = "update pins set called_at = ? where run_id = ? and stem = ? returning sha"
            row = self._db.execute(update, (now.timestamp(), run_id, stem)).fetchone()
        return row[0] if row else None

    def unpin(self, run_id: str) -> None:
        with self._lock:
            self._db.execute("delete from pins where run_id = ?", (run_id,))

    def is_pinned(self, stem: str, sha: str) -> bool:
        with self._lock:
            row = self._db.execute("select 1 from pins where stem = ? and sha = ? limit 1", (stem, sha)).fetchone()
        return row is not None

    def quiet_pins(self, now: datetime, quiet: timedelta) -> list[Pin]:
        """Runs that nobody called for so long."""
        query = "select run_id, stem, sha from pins where called_at < ?"
        with self._lock:
            rows = self._db.execute(query, ((now - quiet).timestamp(),)).fetchall()
        return [Pin(*row) for row in rows]

    def close(self) -> None:
        with self._lock:
            self._db.close()

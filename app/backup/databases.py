"""Copies of whole databases: PostgreSQL with its own tools, SQLite while it is in use."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import sqlalchemy as sa

from app.backup.manifest import BackupError


def dump_postgres(url: str, target: Path) -> None:
    """Write a consistent copy of the database into a file."""
    _run_postgres_tool("pg_dump", url, "--format=custom", "--no-owner", "--no-privileges", f"--file={target}")


def load_postgres(url: str, source: Path) -> None:
    """Replace the database by the file's contents, all or nothing."""
    _run_postgres_tool(
        "pg_restore",
        url,
        *("--clean", "--if-exists", "--no-owner", "--no-privileges", "--single-transaction", "--exit-on-error"),
        str(source),
    )


def _run_postgres_tool(tool: str, url: str, *arguments: str) -> None:
    program = shutil.which(tool)
    if program is None:
        raise BackupError(
            f"{tool} is not on PATH: install PostgreSQL's client programs, of the server's version or newer"
        )
    address = sa.make_url(url)
    # The password goes into the environment: every user of the machine can read a command line.
    without_password = address.set(drivername="postgresql", password=None).render_as_string(hide_password=False)
    env = {**os.environ, **({"PGPASSWORD": str(address.password)} if address.password else {})}
    done = subprocess.run(
        [program, f"--dbname={without_password}", *arguments],
        env=env,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode:
        raise BackupError(f"{tool} failed: {done.stderr.strip() or done.returncode}")


def copy_sqlite(source: Path, target: Path) -> None:
    """Make a consistent copy. Writers may go on meanwhile."""
    with (
        closing(sqlite3.connect(f"file:{source}?mode=ro", uri=True)) as reading,
        closing(sqlite3.connect(target)) as writing,
    ):
        reading.backup(writing)
        # Keeps the copy in one file, without journal files beside it.
        writing.execute("PRAGMA journal_mode=DELETE")


def find_sqlite_damage(database: Path) -> str | None:
    """Return what SQLite's check finds wrong, or None."""
    try:
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
            found = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.DatabaseError as error:
        return str(error)
    return None if found == "ok" else found

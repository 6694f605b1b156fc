"""PostgreSQL databases, by PostgreSQL's own tools."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import sqlalchemy as sa

from app.backup.manifest import BackupError


def dump(url: str, target: Path) -> None:
    """Write the database into a file, as of one moment."""
    _run("pg_dump", url, "--format=custom", "--no-owner", "--no-privileges", f"--file={target}")


def load(url: str, source: Path) -> None:
    """Replace the database by what the file holds: all of it, or nothing."""
    _run(
        "pg_restore",
        url,
        *("--clean", "--if-exists", "--no-owner", "--no-privileges", "--single-transaction", "--exit-on-error"),
        str(source),
    )


def _run(tool: str, url: str, *words: str) -> None:
    program = shutil.which(tool)
    if program is None:
        raise BackupError(
            f"{tool} is not on PATH: install PostgreSQL's client programs, of the server's version or newer"
        )
    address = sa.make_url(url)
    # The password goes by the environment: a command line can be read by everybody on the machine.
    bare = address.set(drivername="postgresql", password=None).render_as_string(hide_password=False)
    env = {**os.environ, **({"PGPASSWORD": str(address.password)} if address.password else {})}
    done = subprocess.run(
        [program, f"--dbname={bare}", *words],
        env=env,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode:
        raise BackupError(f"{tool} failed: {done.stderr.strip() or done.returncode}")

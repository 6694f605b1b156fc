"""The state of a running product in its home: the supervisor's lock and the list of processes."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from types import TracebackType

_LOCK_FILE = "up.lock"
_PROCESSES_FILE = "processes.json"


class HomeInUseError(RuntimeError):
    """Another `loopwright up` uses this home."""

    def __init__(self, home: Path) -> None:
        super().__init__(f"{home} is in use by another `loopwright up`; stop that one, or choose another --home")


class HomeLock:
    """A lock held inside `with`. The system releases it when the holder dies, however it dies."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._handle = -1

    def __enter__(self) -> HomeLock:
        self._handle = os.open(self._home / _LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._handle)
            raise HomeInUseError(self._home) from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._handle)


def is_home_in_use(home: Path) -> bool:
    """Return whether a living supervisor uses this home."""
    try:
        handle = os.open(home / _LOCK_FILE, os.O_RDONLY)
    except (FileNotFoundError, NotADirectoryError):
        return False
    try:
        # A shared lock, so that two readers do not disturb each other.
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


class ProcessState(StrEnum):
    STARTING = "starting"
    RUNNING = "running"
    RESTARTING = "restarting"
    STOPPING = "stopping"
    STOPPED = "stopped"


@dataclass(frozen=True)
class ProcessRow:
    """A process as `ps` shows it; `pid` is None while it does not run."""

    name: str
    pid: int | None
    port: int
    state: ProcessState


def write_rows(home: Path, rows: Sequence[ProcessRow]) -> None:
    """Replace the file atomically: a reader sees the old rows or the new ones."""
    target = home / _PROCESSES_FILE
    fresh = target.with_name(f"{_PROCESSES_FILE}.new")
    fresh.write_text(json.dumps({"items": [asdict(row) for row in rows]}, indent=1) + "\n")
    os.replace(fresh, target)


def read_rows(home: Path) -> list[ProcessRow] | None:
    """Return the processes of the product running in this home; None if none runs, even if a file was left."""
    if not is_home_in_use(home):
        return None
    try:
        items = json.loads((home / _PROCESSES_FILE).read_text())["items"]
    except FileNotFoundError:
        return None
    return [ProcessRow(item["name"], item["pid"], item["port"], ProcessState(item["state"])) for item in items]


def remove_rows(home: Path) -> None:
    (home / _PROCESSES_FILE).unlink(missing_ok=True)

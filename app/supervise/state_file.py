"""`processes.json` in the home: what runs, for `ps` and for the commands that need the address."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from app.supervise.home_lock import is_in_use

_FILE = "processes.json"


class ProcessState(StrEnum):
    STARTING = "starting"
    RUNNING = "running"
    RESTARTING = "restarting"
    STOPPING = "stopping"
    STOPPED = "stopped"


@dataclass(frozen=True)
class ProcessRow:
    """One process as `ps` shows it; `pid` is None while there is none."""

    name: str
    pid: int | None
    port: int
    state: ProcessState


def write_rows(home: Path, rows: Sequence[ProcessRow]) -> None:
    """Replace the file at once: a reader sees the old rows or the new ones."""
    target = home / _FILE
    fresh = target.with_name(f"{_FILE}.new")
    fresh.write_text(json.dumps({"items": [asdict(row) for row in rows]}, indent=1) + "\n")
    os.replace(fresh, target)


def read_rows(home: Path) -> list[ProcessRow] | None:
    """The rows of the product that runs in this home; None when none does, whatever a killed one left behind."""
    if not is_in_use(home):
        return None
    try:
        items = json.loads((home / _FILE).read_text())["items"]
    except FileNotFoundError:
        return None
    return [ProcessRow(item["name"], item["pid"], item["port"], ProcessState(item["state"])) for item in items]


def remove_rows(home: Path) -> None:
    (home / _FILE).unlink(missing_ok=True)

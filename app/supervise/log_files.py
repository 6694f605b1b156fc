"""The children's logs: one file each, the one of the start before kept beside it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

_TAIL_BYTES = 4_000


def rotate(logs: Path, names: Iterable[str]) -> None:
    """Make the folder, and move what an earlier start wrote out of the way."""
    logs.mkdir(mode=0o700, exist_ok=True)
    for name in names:
        log = logs / f"{name}.log"
        if log.exists():
            os.replace(log, log.with_suffix(".log.1"))


def tail(log: Path, lines: int = 5) -> list[str]:
    """The last lines that say something."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return []
    return [line for line in text.splitlines() if line.strip()][-lines:]

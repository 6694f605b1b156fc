"""Whether a process works or waits, which a busy machine does not change."""

from __future__ import annotations

import contextlib
from pathlib import Path

from sidecar.child.family import family

# Running or ready to, or waiting for a disk: what it wants is not in its own hands.
_AT_WORK = {"R", "D"}


class Idleness:
    """Looks at a process and all below it, time and again."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._used = -1

    def looks_idle(self) -> bool:
        """Whether none of its threads can go on now, and none has used the processor since the last look."""
        used, works = _activity(self._pid)
        idle = not works and used == self._used
        self._used = used
        return idle


def used_by_family(pid: int) -> int:
    """The ticks of the processor that a process and all below it have used."""
    return _activity(pid)[0]


def _activity(pid: int) -> tuple[int, bool]:
    """The ticks of the processor that were used, and whether any thread is at work."""
    used, works = 0, False
    for _, tasks in family(pid):
        for task in tasks:
            # It may end at any time.
            with contextlib.suppress(OSError, ValueError, IndexError):
                state, ticks = _state(task)
                used, works = used + ticks, works or state in _AT_WORK
    return used, works


def _state(task: Path) -> tuple[str, int]:
    # The name before it may hold anything, blanks and brackets included.
    fields = task.joinpath("stat").read_text().rpartition(")")[2].split()
    return fields[0], int(fields[11]) + int(fields[12])

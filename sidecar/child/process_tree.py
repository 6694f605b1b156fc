"""Processes below a given one: list them, measure what they use, and end them."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path


def walk_process_tree(pid: int) -> Iterator[tuple[int, list[Path]]]:
    """Each by its number, with the folders of its threads; of one that ends meanwhile, those that were seen."""
    members = [pid]
    for member in members:
        tasks: list[Path] = []
        with contextlib.suppress(OSError, ValueError):
            for task in Path(f"/proc/{member}/task").iterdir():
                tasks.append(task)
                members += [int(child) for child in task.joinpath("children").read_text().split()]
        yield member, tasks


_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class ProcessTreeUsage:
    """`memory` is in bytes that are not files'; what processes share since a fork counts for each of them.

    `processes` are its threads, too, as the system counts them.
    """

    memory: int
    processes: int


def measure_process_tree(pid: int) -> ProcessTreeUsage:
    """Of what is there just now."""
    total, processes = 0, 0
    for member, tasks in walk_process_tree(pid):
        processes += len(tasks)
        with contextlib.suppress(OSError, ValueError):
            _, resident, shared, *_ = Path(f"/proc/{member}/statm").read_text().split()
            total += (int(resident) - int(shared)) * _PAGE
    return ProcessTreeUsage(total, processes)


_ROUNDS = 400


def list_children() -> set[int]:
    """Those whose parent this process is, orphans that became ours included."""
    try:
        told = [task.joinpath("children").read_text() for task in Path("/proc/self/task").iterdir()]
    except OSError:
        return _find_children()
    return {int(pid) for text in told for pid in text.split()}


def kill_children(but: Container[int]) -> bool:
    """End all except those in `but`; False when they multiply faster than they can be ended.

    What they leave behind becomes ours and ends too.
    """
    for _ in range(_ROUNDS):
        strangers = [pid for pid in list_children() if pid not in but]
        if not strangers:
            return True
        for pid in strangers:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        for pid in strangers:
            with contextlib.suppress(OSError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.001)
    return False


def _find_children() -> set[int]:
    own, found = str(os.getpid()), set()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if folder.joinpath("stat").read_text().rpartition(")")[2].split()[1] == own:
                found.add(int(folder.name))
    return found


# Running or ready to, or waiting for a disk: what it wants is not in its own hands.
_AT_WORK = {"R", "D"}


class Idleness:
    """Looks at a process and all below it, time and again."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._used = -1

    def looks_idle(self) -> bool:
        """Whether none of its threads can go on now, and none has used the processor since the last look."""
        used, works = _measure_activity(self._pid)
        idle = not works and used == self._used
        self._used = used
        return idle


def measure_processor_ticks(pid: int) -> int:
    """The ticks of the processor that a process and all below it have used."""
    return _measure_activity(pid)[0]


def _measure_activity(pid: int) -> tuple[int, bool]:
    """The ticks of the processor that were used, and whether any thread is at work."""
    used, works = 0, False
    for _, tasks in walk_process_tree(pid):
        for task in tasks:
            # It may end at any time.
            with contextlib.suppress(OSError, ValueError, IndexError):
                state, ticks = _read_task_state(task)
                used, works = used + ticks, works or state in _AT_WORK
    return used, works


def _read_task_state(task: Path) -> tuple[str, int]:
    # The name before it may hold anything, blanks and brackets included.
    fields = task.joinpath("stat").read_text().rpartition(")")[2].split()
    return fields[0], int(fields[11]) + int(fields[12])

"""A process with its descendants: list them, measure what they use, and end them."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")
_ROUNDS = 400
# States in which a thread is not idle: running or ready to run, or waiting for a disk.
_AT_WORK = {"R", "D"}


def walk_process_tree(pid: int) -> Iterator[tuple[int, list[Path]]]:
    """Yield each process id with the folders of its threads, as far as they could be read before the process ended."""
    members = [pid]
    for member in members:
        tasks: list[Path] = []
        with contextlib.suppress(OSError, ValueError):
            for task in Path(f"/proc/{member}/task").iterdir():
                tasks.append(task)
                members += [int(child) for child in task.joinpath("children").read_text().split()]
        yield member, tasks


@dataclass(frozen=True)
class ProcessTreeUsage:
    """Memory in bytes without that of files, and the number of threads.

    Memory that processes share since a fork counts for each of them.
    """

    memory: int
    processes: int


def measure_process_tree(pid: int) -> ProcessTreeUsage:
    """Measure what a process and its descendants use now."""
    total, processes = 0, 0
    for member, tasks in walk_process_tree(pid):
        processes += len(tasks)
        with contextlib.suppress(OSError, ValueError):
            _, resident, shared, *_ = Path(f"/proc/{member}/statm").read_text().split()
            total += (int(resident) - int(shared)) * _PAGE
    return ProcessTreeUsage(total, processes)


def list_children() -> set[int]:
    """List the children of this process, adopted orphans included."""
    try:
        listed = [task.joinpath("children").read_text() for task in Path("/proc/self/task").iterdir()]
    except OSError:
        return _find_children()
    return {int(pid) for text in listed for pid in text.split()}


def kill_children(except_for: Container[int]) -> bool:
    """Kill all children except some; return False when they multiply faster than they can be killed.

    Their orphans become children of this process and are killed too.
    """
    for _ in range(_ROUNDS):
        others = [pid for pid in list_children() if pid not in except_for]
        if not others:
            return True
        for pid in others:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        for pid in others:
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


class Idleness:
    """Compares two looks at a process and its descendants, to tell whether they are idle."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._used = -1

    def looks_idle(self) -> bool:
        """Return whether no thread can run now and none has used the processor since the last look."""
        used, is_working = _measure_activity(self._pid)
        idle = not is_working and used == self._used
        self._used = used
        return idle


def measure_processor_ticks(pid: int) -> int:
    """Return the processor ticks that a process and its descendants have used."""
    return _measure_activity(pid)[0]


def _measure_activity(pid: int) -> tuple[int, bool]:
    """Return the used processor ticks, and whether any thread is at work."""
    used, is_working = 0, False
    for _, tasks in walk_process_tree(pid):
        for task in tasks:
            # The thread may end at any time.
            with contextlib.suppress(OSError, ValueError, IndexError):
                state, ticks = _read_task_state(task)
                used, is_working = used + ticks, is_working or state in _AT_WORK
    return used, is_working


def _read_task_state(task: Path) -> tuple[str, int]:
    # The process name in front may contain anything, blanks and brackets included.
    fields = task.joinpath("stat").read_text().rpartition(")")[2].split()
    return fields[0], int(fields[11]) + int(fields[12])

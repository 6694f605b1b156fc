"""User ids for children, so that the kernel counts and protects the processes of each separately."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
from pathlib import Path

# Systemd gives these ids to services while they run; no files belong to them.
_FIRST, _LAST = 61184, 65519


class ChildUsers:
    """Hands out user ids that no running process has, whether of another sidecar's child or of a service.

    Processes with the same id could end each other. `first` is tried first.
    """

    def __init__(self, first: int | None = None) -> None:
        self._lock = threading.Lock()
        self._taken: set[int] = set()
        self._next = first if first is not None else random.randint(_FIRST, _LAST)

    def take(self) -> int:
        """Take an unused id."""
        with self._lock:
            alive = {user for pid in _pids() if (user := _user_of(pid)) is not None}
            while self._next in self._taken | alive:
                self._step()
            user = self._next
            self._taken.add(user)
            self._step()
            return user

    def give_back(self, user: int) -> None:
        """Give an id back."""
        with self._lock:
            self._taken.discard(user)

    def _step(self) -> None:
        self._next = _FIRST if self._next == _LAST else self._next + 1


def is_child_user(user: int) -> bool:
    """Return whether the id is one that children get."""
    return _FIRST <= user <= _LAST


def end_user_processes(user: int) -> None:
    """Kill all processes of a user id; returns when none is left, or none can be killed."""
    for _ in range(100):
        left = [pid for pid in _pids() if _user_of(pid) == user]
        if not left:
            return
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _user_of(pid: int) -> int | None:
    """Return the user id of a process; None when it has ended, even if it has not been reaped."""
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        fields = dict(line.split(":", 1) for line in lines if ":" in line)
        if fields["State"].strip()[0] not in "ZX":
            return int(fields["Uid"].split()[0])
    return None

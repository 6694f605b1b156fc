"""User ids for children, so that the system counts and protects the processes of each by themselves."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
from pathlib import Path

# Systemd hands these out to services for as long as they live; nobody's files belong to them.
_FIRST, _LAST = 61184, 65519


class ChildUsers:
    """Hands out ids that no living process has, be it another sidecar's child or a service of the machine: who shares
    one may end the other. `first` is tried first."""

    def __init__(self, first: int | None = None) -> None:
        self._lock = threading.Lock()
        self._taken: set[int] = set()
        self._next = first if first is not None else random.randint(_FIRST, _LAST)

    def take(self) -> int:
        with self._lock:
            alive = {user for pid in _pids() if (user := _user_of(pid)) is not None}
            while self._next in self._taken | alive:
                self._step()
            user = self._next
            self._taken.add(user)
            self._step()
            return user

    def give_back(self, user: int) -> None:
        with self._lock:
            self._taken.discard(user)

    def _step(self) -> None:
        self._next = _FIRST if self._next == _LAST else self._next + 1


def is_child_user(user: int) -> bool:
    return _FIRST <= user <= _LAST


def end_user_processes(user: int) -> None:
    """Kill whatever still runs under the id; returns when nothing does, or nothing can be done."""
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
    """None when it is gone, or a zombie that only waits to be reaped."""
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        told = dict(line.split(":", 1) for line in lines if ":" in line)
        if told["State"].strip()[0] not in "ZX":
            return int(told["Uid"].split()[0])
    return None

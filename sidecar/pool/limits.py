"""Enforce the limits of skills' processes from outside: each guards its own runs, but may have been tampered with."""

from __future__ import annotations

import logging
import os
import threading
import time
from dataclasses import dataclass, field
from typing import Protocol

from sidecar.child.limits import MEBIBYTE, Limits
from sidecar.child.process_tree import measure_process_tree, measure_processor_ticks

_log = logging.getLogger(__name__)
_TICKS = os.sysconf("SC_CLK_TCK")
_BUSY_SECONDS, _REST_SECONDS = 1.0, 15.0
_MOST_AT_REST = 0.2
"""Of one processor's time: a process whose skill was not called has nothing to do."""
_JAIL_PROCESSES = 8
"""Processes beside those of the skill: the jail's own."""
_LOOKS = 3
"""So often in a row it is seen with too much before it ends: until then its own guard ends the one run that took it."""


class GuardedProcess(Protocol):
    """A process with all that it started."""

    @property
    def pid(self) -> int: ...

    @property
    def open(self) -> int:
        """Calls under way."""
        ...

    @property
    def calls(self) -> int:
        """All that there ever were."""
        ...

    def kill(self) -> None: ...


@dataclass
class _GuardRecord:
    """When nobody had called, at the last look: since when, how often it was called by then, what it had used."""

    name: str
    loaded: bool = False
    looked_at: float = field(default_factory=time.monotonic)
    calls: int = -1
    ticks: int = 0
    over: int = 0


class LimitGuard:
    """One thread. It looks often at those that are called, seldom at the others, and sleeps where there is none."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._changed = threading.Condition()
        self._seen: dict[GuardedProcess, _GuardRecord] = {}
        self._stopped = False
        self._thread = threading.Thread(target=self._watch, name="guard", daemon=True)
        self._thread.start()

    def watch(self, one: GuardedProcess, name: str) -> None:
        with self._changed:
            self._seen[one] = _GuardRecord(name)
            self._changed.notify()

    def loaded(self, one: GuardedProcess) -> None:
        """From now on it works only when it is called."""
        with self._changed:
            if (seen := self._seen.get(one)) is not None:
                self._seen[one] = _GuardRecord(seen.name, loaded=True)

    def leave(self, one: GuardedProcess) -> None:
        with self._changed:
            self._seen.pop(one, None)

    def called(self) -> None:
        """Somebody is busy from now on."""
        with self._changed:
            self._changed.notify()

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify()
        self._thread.join(5)

    def _watch(self) -> None:
        while True:
            with self._changed:
                if not self._stopped:
                    self._changed.wait(self._pause())
                if self._stopped:
                    return
                known = list(self._seen.items())
            for one, seen in known:
                if reason := self._reason(one, seen):
                    _log.warning("skill %s: its process is ended: %s", seen.name, reason)
                    one.kill()
            # Calls that come one after the other are no reason to look more often.
            time.sleep(_BUSY_SECONDS)

    def _pause(self) -> float | None:
        if not self._seen:
            return None
        is_busy = any(one.open or seen.over for one, seen in self._seen.items())
        return 0.0 if is_busy else _REST_SECONDS

    def _reason(self, one: GuardedProcess, seen: _GuardRecord) -> str:
        """Why it has to end; empty when it has not."""
        now, open_calls, calls = time.monotonic(), one.open, one.calls
        if open_calls:
            seen.calls = -1
        elif not seen.over and calls == seen.calls and now - seen.looked_at < _REST_SECONDS:
            return ""
        if reason := self._beyond(one.pid, open_calls):
            seen.over += 1
            return reason if seen.over >= _LOOKS else ""
        seen.over = 0
        return "" if open_calls or not seen.loaded else self._worked_at_rest(one, seen, now, calls)

    def _beyond(self, pid: int, open_calls: int) -> str:
        usage, most = measure_process_tree(pid), self._limits.memory * (open_calls + 1)
        if usage.memory > most:
            return f"with all that it started it used more than {most // MEBIBYTE} MiB of memory"
        if usage.processes > self._limits.processes + _JAIL_PROCESSES:
            return f"it started more than {self._limits.processes} processes and threads"
        return ""

    def _worked_at_rest(self, one: GuardedProcess, seen: _GuardRecord, now: float, calls: int) -> str:
        ticks, before = measure_processor_ticks(one.pid), seen.looked_at
        used, is_first = (ticks - seen.ticks) / _TICKS, calls != seen.calls
        seen.looked_at, seen.calls, seen.ticks = now, calls, ticks
        if is_first or used < _MOST_AT_REST * (now - before):
            return ""
        return f"it used {used:.0f} s of processor time while it was not called"

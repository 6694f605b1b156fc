"""Enforce the limits of skills' processes from outside, since a child's own guard may have been tampered with."""

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
_BUSY_SECONDS, _IDLE_SECONDS = 1.0, 15.0
_MOST_IDLE_SHARE = 0.2
"""Share of one processor that a process may use while no call is open."""
_JAIL_PROCESSES = 8
"""Processes of the jail itself, beside the skill's."""
_EXCESSES_TO_END = 3
"""Checks in a row that must find too much before the process is ended.

Until then, its own guard may end the one run that is at fault.
"""


class GuardedProcess(Protocol):
    """A process, with all that it started."""

    @property
    def pid(self) -> int: ...

    @property
    def open_calls(self) -> int:
        """Calls under way."""
        ...

    @property
    def call_count(self) -> int:
        """All calls so far."""
        ...

    def kill(self) -> None: ...


@dataclass
class _GuardRecord:
    """What was last seen of a process.

    `checked_at`, `call_count` and `ticks` are of the last check without open calls; `call_count` is -1 if calls were
    open since. `excesses` counts the checks in a row that found too much.
    """

    name: str
    loaded: bool = False
    checked_at: float = field(default_factory=time.monotonic)
    call_count: int = -1
    ticks: int = 0
    excesses: int = 0


class LimitGuard:
    """Checks processes in one thread: often while they are called, seldom otherwise, and never while there are none."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._changed = threading.Condition()
        self._records: dict[GuardedProcess, _GuardRecord] = {}
        self._stopped = False
        self._thread = threading.Thread(target=self._watch, name="guard", daemon=True)
        self._thread.start()

    def watch(self, process: GuardedProcess, name: str) -> None:
        """Check a process from now on."""
        with self._changed:
            self._records[process] = _GuardRecord(name)
            self._changed.notify()

    def mark_loaded(self, process: GuardedProcess) -> None:
        """Expect the process to work only when it is called."""
        with self._changed:
            if (record := self._records.get(process)) is not None:
                self._records[process] = _GuardRecord(record.name, loaded=True)

    def unwatch(self, process: GuardedProcess) -> None:
        """Check a process no more."""
        with self._changed:
            self._records.pop(process, None)

    def wake(self) -> None:
        """Check soon, since a call has begun."""
        with self._changed:
            self._changed.notify()

    def stop(self) -> None:
        """Stop checking."""
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
                known = list(self._records.items())
            for process, record in known:
                if reason := self._reason_to_end(process, record):
                    _log.warning("skill %s: its process is ended: %s", record.name, reason)
                    process.kill()
            # Many calls in a row must not cause more checks.
            time.sleep(_BUSY_SECONDS)

    def _pause(self) -> float | None:
        if not self._records:
            return None
        is_busy = any(process.open_calls or record.excesses for process, record in self._records.items())
        return 0.0 if is_busy else _IDLE_SECONDS

    def _reason_to_end(self, process: GuardedProcess, record: _GuardRecord) -> str:
        """Return why a process has to end; empty when it may go on."""
        now, open_calls, calls = time.monotonic(), process.open_calls, process.call_count
        if open_calls:
            record.call_count = -1
        elif not record.excesses and calls == record.call_count and now - record.checked_at < _IDLE_SECONDS:
            return ""
        if reason := self._excess(process.pid, open_calls):
            record.excesses += 1
            return reason if record.excesses >= _EXCESSES_TO_END else ""
        record.excesses = 0
        return "" if open_calls or not record.loaded else self._idle_work(process, record, now, calls)

    def _excess(self, pid: int, open_calls: int) -> str:
        """Return what the process has too much of; empty when nothing."""
        usage, most = measure_process_tree(pid), self._limits.memory * (open_calls + 1)
        if usage.memory > most:
            return f"with all that it started it used more than {most // MEBIBYTE} MiB of memory"
        if usage.processes > self._limits.processes + _JAIL_PROCESSES:
            return f"it started more than {self._limits.processes} processes and threads"
        return ""

    def _idle_work(self, process: GuardedProcess, record: _GuardRecord, now: float, calls: int) -> str:
        """Return that the process worked too much without a call since the last check; empty when it did not."""
        ticks, before = measure_processor_ticks(process.pid), record.checked_at
        used, is_first = (ticks - record.ticks) / _TICKS, calls != record.call_count
        record.checked_at, record.call_count, record.ticks = now, calls, ticks
        if is_first or used < _MOST_IDLE_SHARE * (now - before):
            return ""
        return f"it used {used:.0f} s of processor time while it was not called"

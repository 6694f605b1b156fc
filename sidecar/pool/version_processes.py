"""Running processes of one skill: one for each version that is needed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace

from sidecar.pool.child_process import ChildProcess, ProcessLostError, SkillCode
from sidecar.pool.spawner import Spawner

# A process that ends this soon after its start will probably do so again, so it is restarted less and less often.
_SOON_SECONDS = 10.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0


class _Slot:
    """The process of one version, or its place while there is none.

    `has_died`: the last process ended by itself. `granted` are the grants that the process started with, `admitted` is
    the id of the version that may use the broker, empty while none may.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.child: ChildProcess | None = None
        self.has_died = False
        self.granted: frozenset[str] = frozenset()
        self.admitted = ""
        self.started_at = 0.0
        self.early_deaths = 0


class VersionProcesses:
    """The processes of a skill by version. Starting one never holds up calls of another."""

    def __init__(self, spawner: Spawner) -> None:
        self._spawner = spawner
        self._lock = threading.Lock()
        self._slots: dict[str, _Slot] = {}

    def child(self, version: SkillCode) -> ChildProcess:
        """Return the running process of a version, started if there is none.

        A new one may do nothing while the mode is `loading`; it is admitted when it is next asked for in another mode.
        Raises RefusedSkillError when it does not load, ProcessLostError when it keeps ending and must wait.
        """
        with self._lock:
            slot = self._slots.setdefault(version.sha, _Slot())
        with slot.lock:
            if slot.child is not None and slot.child.alive:
                # Its grants are fixed at its start, so with other grants it is replaced, as soon as it has no call.
                if slot.granted == version.granted or slot.child.busy:
                    self._admit(slot, slot.child, version)
                    return slot.child
                self._end(slot)
            self._clear_dead(slot)
            slot.child, slot.admitted = self._spawner.boot(version), ""
            slot.granted = version.granted
            slot.started_at = time.monotonic()
            self._admit(slot, slot.child, version)
            return slot.child

    def end_dead(self, sha: str) -> None:
        """End what is left of a version's process that ended by itself, with its socket at the broker."""
        with self._lock:
            slot = self._slots.get(sha)
        if slot is None:
            return
        with slot.lock:
            if slot.child is not None and not slot.child.alive:
                self._end(slot)
                slot.has_died = True

    def end_unneeded(self, needed: Callable[[str], bool]) -> None:
        """End the processes of versions that are not needed and have no call."""
        with self._lock:
            slots = list(self._slots.items())
        for sha, slot in slots:
            # A held lock means that it is being started, so it is needed.
            if needed(sha) or not slot.lock.acquire(blocking=False):
                continue
            try:
                if slot.child is not None and not slot.child.busy:
                    self._end(slot)
            finally:
                slot.lock.release()

    def stop(self) -> None:
        """End all processes."""
        with self._lock:
            slots = list(self._slots.values())
        for slot in slots:
            with slot.lock:
                self._end(slot)

    def _admit(self, slot: _Slot, child: ChildProcess, version: SkillCode) -> None:
        """Admit the process once. One that is admitted stays so when a file with the same code is loaded again."""
        if version.mode != "loading" and slot.admitted != version.version_id:
            self._spawner.admit(child, replace(version, granted=slot.granted))
            slot.admitted = version.version_id

    def _end(self, slot: _Slot) -> None:
        if slot.child is not None:
            self._spawner.end(slot.child)
            slot.child = None

    def _clear_dead(self, slot: _Slot) -> None:
        """Clear away a dead process; raises ProcessLostError while it must not be restarted yet."""
        if slot.child is None and not slot.has_died:
            return
        now = time.monotonic()
        early = now - slot.started_at < _SOON_SECONDS
        pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**slot.early_deaths) if slot.early_deaths else 0.0
        if early and now - slot.started_at < pause:
            raise ProcessLostError("the process of the skill keeps ending; it is started again in a while", begun=False)
        slot.early_deaths = slot.early_deaths + 1 if early else 0
        slot.has_died = False
        self._end(slot)

"""Live processes of one skill: one for each of its versions that is needed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace

from sidecar.pool.child_process import ChildProcess, ProcessLostError, SkillCode
from sidecar.pool.spawner import Spawner

# A process that ends this soon after its start will do so again: it is started less and less often.
_SOON_SECONDS = 10.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0


class _Slot:
    """The place of one version's process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.child: ChildProcess | None = None
        self.has_died = False
        self.granted: frozenset[str] = frozenset()
        self.admitted = ""
        self.started_at = 0.0
        self.early_deaths = 0


class VersionProcesses:
    """Starting one version never holds up the calls of another."""

    def __init__(self, nursery: Spawner) -> None:
        self._nursery = nursery
        self._lock = threading.Lock()
        self._cots: dict[str, _Slot] = {}

    def child(self, version: SkillCode) -> ChildProcess:
        """The living process of a version, started when there is none.

        Asked for with the mode `loading`, a new one may do nothing until it is asked for otherwise.

        Raises RefusedSkillError when it does not load, ProcessLostError when it keeps ending and must
        wait.
        """
        with self._lock:
            cot = self._cots.setdefault(version.sha, _Slot())
        with cot.lock:
            if cot.child is not None and cot.child.alive:
                # What it may do was settled at its start: with other grants it starts anew, between two calls.
                if cot.granted == version.granted or cot.child.busy:
                    self._admit(cot, cot.child, version)
                    return cot.child
                self._end(cot)
            self._bury(cot)
            cot.child, cot.admitted = self._nursery.boot(version), ""
            cot.granted = version.granted
            cot.started_at = time.monotonic()
            self._admit(cot, cot.child, version)
            return cot.child

    def end_dead(self, sha: str) -> None:
        """Where the process of a version ended by itself, end all that is left of it, with its way to the broker."""
        with self._lock:
            cot = self._cots.get(sha)
        if cot is None:
            return
        with cot.lock:
            if cot.child is not None and not cot.child.alive:
                self._end(cot)
                cot.has_died = True

    def keep(self, needed: Callable[[str], bool]) -> None:
        """End the processes of versions that are not needed and have no call."""
        with self._lock:
            cots = list(self._cots.items())
        for sha, cot in cots:
            # Held: it is being started, and so wanted.
            if needed(sha) or not cot.lock.acquire(blocking=False):
                continue
            try:
                if cot.child is not None and not cot.child.busy:
                    self._end(cot)
            finally:
                cot.lock.release()

    def stop(self) -> None:
        with self._lock:
            cots = list(self._cots.values())
        for cot in cots:
            with cot.lock:
                self._end(cot)

    def _admit(self, cot: _Slot, child: ChildProcess, version: SkillCode) -> None:
        """Who may do more already does not do less for being looked at again."""
        if version.mode != "loading" and cot.admitted != version.version_id:
            self._nursery.admit(child, replace(version, granted=cot.granted))
            cot.admitted = version.version_id

    def _end(self, cot: _Slot) -> None:
        if cot.child is not None:
            self._nursery.end(cot.child)
            cot.child = None

    def _bury(self, cot: _Slot) -> None:
        if cot.child is None and not cot.has_died:
            return
        now = time.monotonic()
        early = now - cot.started_at < _SOON_SECONDS
        pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**cot.early_deaths) if cot.early_deaths else 0.0
        if early and now - cot.started_at < pause:
            raise ProcessLostError("the process of the skill keeps ending; it is started again in a while", begun=False)
        cot.early_deaths = cot.early_deaths + 1 if early else 0
        cot.has_died = False
        self._end(cot)

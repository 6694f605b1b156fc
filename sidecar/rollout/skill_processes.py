"""Processes that one skill needs: which versions have one, and for how long."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Set
from contextlib import contextmanager
from dataclasses import replace

from sidecar.pool.child_process import ChildProcess, EndedError, ProcessLostError, SkillCode
from sidecar.pool.version_processes import VersionProcesses
from sidecar.rollout.dependencies import SidecarDependencies
from skills.book import grants, runs
from skills.book.versions import CheckedVersion

_MOST_ALONE = 2
_TURN_SECONDS = 3.0


class SkillProcesses:
    """A version has one while it is wanted, or a run goes on with it, and somebody called within the idle time."""

    def __init__(self, stem: str, tools: SidecarDependencies) -> None:
        self._stem = stem
        self._tools = tools
        self._brood = VersionProcesses(tools.nursery)
        self._used: dict[str, float] = {}
        self._codes: dict[str, SkillCode] = {}
        self._loading = ""
        self._turns = threading.BoundedSemaphore(_MOST_ALONE)

    def child(self, version: CheckedVersion, path: str) -> ChildProcess:
        """The living process of a version; raises RefusedSkillError or UnavailableError."""
        self._used[version.sha] = time.monotonic()
        return self._brood.child(self._code(version, path))

    @contextmanager
    def again(self, version: CheckedVersion, path: str) -> Iterator[ChildProcess]:
        """A process for a call that lost its own; raises as `child` does, and EndedError when it loses this one alone.

        No other call shares it; but there are few of these at a time, and who gets none has the version's new one.
        """
        self._brood.end_dead(version.sha)
        if not self._turns.acquire(timeout=_TURN_SECONDS):
            yield self.child(version, path)
            return
        try:
            child = self._tools.nursery.boot(self._code(version, path))
            try:
                yield child
            except ProcessLostError as error:
                if not error.begun:
                    raise
                # Nobody else was there.
                raise EndedError(f"the run took the process that it came from: {error}") from None
            finally:
                self._tools.nursery.end(child)
        finally:
            self._turns.release()

    def _code(self, version: CheckedVersion, path: str) -> SkillCode:
        code = self._codes.get(version.id)
        if code is None:
            with self._tools.reading() as scope:
                granted = grants.granted_permissions(scope, self._stem)
            source = version.source.encode()
            code = SkillCode(self._stem, version.sha, source, path, version.id, version.manifest, granted)
            self._codes[version.id] = code
        return code

    def load(self, code: SkillCode) -> ChildProcess:
        """The process of code that is no version yet, and may do nothing before it is one; raises as `child` does."""
        self._used[code.sha] = time.monotonic()
        return self._brood.child(replace(code, mode="loading"))

    def loading(self, sha: str) -> None:
        """From now on this code is being looked at; with an empty name, none is."""
        self._loading = sha

    def forget_grants(self) -> None:
        """What was granted may be more by now: a process that is started from now on is told so."""
        self._codes = {}

    def drop_unused(self, wanted: Set[str]) -> None:
        """End those of versions that are neither wanted, by their hash, nor have runs, and the idle ones."""
        with self._tools.reading() as scope:
            pinned = runs.list_hashes_in_use(scope, self._stem)
        now = time.monotonic()

        def needed(sha: str) -> bool:
            if sha == self._loading:
                return True
            return sha in wanted | pinned and now - self._used.get(sha, now) < self._tools.rules.idle

        self._brood.keep(needed)

    def stop(self) -> None:
        """End all of them."""
        self._brood.stop()

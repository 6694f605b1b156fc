"""Processes of one skill: which versions need one, and for how long."""

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

_MOST_SEPARATE = 2
_SEPARATE_WAIT_SECONDS = 3.0


class SkillProcesses:
    """The processes of a skill's versions.

    A version has one as long as it serves, is being rolled out or has open runs, and was called within the idle time.
    """

    def __init__(self, stem: str, dependencies: SidecarDependencies) -> None:
        self._stem = stem
        self._dependencies = dependencies
        self._processes = VersionProcesses(dependencies.spawner)
        self._used: dict[str, float] = {}
        self._codes: dict[str, SkillCode] = {}
        self._loading = ""
        self._separate_slots = threading.BoundedSemaphore(_MOST_SEPARATE)

    def child(self, version: CheckedVersion, path: str) -> ChildProcess:
        """Return the running process of a version; raises RefusedSkillError or UnavailableError."""
        self._used[version.sha] = time.monotonic()
        return self._processes.child(self._code(version, path))

    @contextmanager
    def separate_child(self, version: CheckedVersion, path: str) -> Iterator[ChildProcess]:
        """Open a process for a call that lost the shared one, so that no other run can take it down again.

        Only a few exist at a time; a call that gets none uses the version's new shared process. Raises as `child` does,
        and EndedError when the call loses this process too.
        """
        self._processes.end_dead(version.sha)
        if not self._separate_slots.acquire(timeout=_SEPARATE_WAIT_SECONDS):
            yield self.child(version, path)
            return
        try:
            child = self._dependencies.spawner.boot(self._code(version, path))
            try:
                yield child
            except ProcessLostError as error:
                if not error.begun:
                    raise
                # No other run was in this process.
                raise EndedError(f"the run took the process that it came from: {error}") from None
            finally:
                self._dependencies.spawner.end(child)
        finally:
            self._separate_slots.release()

    def _code(self, version: CheckedVersion, path: str) -> SkillCode:
        code = self._codes.get(version.id)
        if code is None:
            with self._dependencies.reading() as scope:
                granted = grants.granted_permissions(scope, self._stem)
            source = version.source.encode()
            code = SkillCode(self._stem, version.sha, source, path, version.id, version.manifest, granted)
            self._codes[version.id] = code
        return code

    def load(self, code: SkillCode) -> ChildProcess:
        """Start a process with code that is not a version yet and may do nothing; raises as `child` does."""
        self._used[code.sha] = time.monotonic()
        return self._processes.child(replace(code, mode="loading"))

    def mark_loading(self, sha: str) -> None:
        """Keep the process of this code while it is taken in; an empty hash ends that."""
        self._loading = sha

    def forget_grants(self) -> None:
        """Read the grants again for the processes that are started from now on."""
        self._codes = {}

    def drop_unused(self, wanted: Set[str]) -> None:
        """End processes of versions that are neither wanted (by hash) nor have open runs, and idle ones."""
        with self._dependencies.reading() as scope:
            pinned = runs.list_hashes_in_use(scope, self._stem)
        now = time.monotonic()

        def needed(sha: str) -> bool:
            if sha == self._loading:
                return True
            return sha in wanted | pinned and now - self._used.get(sha, now) < self._dependencies.rules.idle

        self._processes.end_unneeded(needed)

    def stop(self) -> None:
        """End all of them."""
        self._processes.stop()

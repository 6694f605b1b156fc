"""One skill of the sidecar, changed by its files, by the book, by the engine and by its calls."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from core.errors import InvalidError, LoopwrightError
from sidecar.pool.child_process import ChildProcess
from sidecar.rollout import saves
from sidecar.rollout.candidate import CandidateRollout
from sidecar.rollout.dependencies import SidecarDependencies
from sidecar.rollout.run_versions import RunVersions
from sidecar.rollout.state import SkillState
from sidecar.watch.folders import SkillFile
from skills.book import grants
from skills.book.versions import CheckedVersion
from skills.lifecycle import control

_log = logging.getLogger(__name__)


class ServedSkill:
    """One skill: its files, its rollout, its registration and its calls.

    Saves and rollout moves run one at a time, calls at any time. `follow_soon` has `follow` called shortly.
    `on_forgotten` is called when the engine has lost its registrations.
    """

    def __init__(
        self,
        stem: str,
        dependencies: SidecarDependencies,
        follow_soon: Callable[[], None],
        on_forgotten: Callable[[], None],
    ) -> None:
        self.stem = stem
        self._dependencies = dependencies
        self._on_forgotten = on_forgotten
        self._work = threading.Lock()
        self._state = SkillState(stem, dependencies)
        self._rollout = CandidateRollout(self._state, follow_soon)
        # Hash and path of the file that was handled last.
        self._offered: tuple[str, str] | None = None
        # A file that is entered in the book and not loaded yet.
        self._entered: SkillFile | None = None
        self.runs = RunVersions(stem, dependencies, self._state.turnover, follow_soon)

    @property
    def app_id(self) -> str:
        return f"skill-{self.stem}"

    @property
    def epoch(self) -> int:
        """The epoch of the row as this process last read it."""
        return self._state.epoch

    @property
    def folder(self) -> Path:
        """The folder of its file, as far as this process knows."""
        return Path(self._state.path).parent

    @property
    def is_put_away(self) -> bool:
        """Whether it is retired and no deleted file remains to be removed."""
        row = self._state.row
        return row is not None and row.status == "retired" and not row.refused_sha

    @property
    def serving(self) -> CheckedVersion | None:
        return self._state.serving

    @property
    def pending(self) -> bool:
        """Whether the engine has yet to be informed of a change."""
        return self._rollout.is_held_up or self._state.registration.is_pending(self.serving)

    @property
    def known_to_engine(self) -> bool:
        """Whether the engine should list it, or does not know yet that it no longer serves."""
        return self.serving is not None or self.pending

    def offer(self, file: SkillFile) -> None:
        """Handle a saved file: roll it out, or record why not and keep what serves.

        Raises UnavailableError where no process can be started; the file may be offered again then.
        """
        if self._is_offered(file):
            return
        with self._work:
            self._take_in(file)
            self._remove_deleted()
        self.drop_unused()

    def enter(self, file: SkillFile) -> bool:
        """Enter the file in the book without loading it; return whether a version of it exists or is wanted."""
        if self._is_offered(file):
            return True
        with self._work:
            row, self._entered = saves.enter_file(self._state, file), file
        return row.enabled or row.version_id is not None or row.candidate_id is not None

    def refuse_unreadable(self, file: SkillFile) -> None:
        """Record that the file cannot be read; what serves goes on."""
        with self._work:
            self._offered = None
            saves.refuse_unreadable(self._state, file)

    def refuse_clash(self, files: Sequence[SkillFile]) -> None:
        """Record that several files have this name: none of them is taken, and what serves goes on."""
        with self._work:
            self._offered = None
            saves.refuse_clash(self._state, files)

    def retire(self) -> None:
        """Retire the skill, since its file is gone. No new runs begin; those that began go on with their version."""
        with self._work:
            self._offered = None
            with self._dependencies.transaction("skill-retired") as scope:
                control.retire(scope, self.stem, file_gone=True)
            self._state.read_book()
            self._register_quietly()
        _log.info("skill %s retired", self.stem)
        self.drop_unused()

    def follow(self) -> None:
        """Act on what changed in the book, or on the end of a run.

        Raises UnavailableError where no process can be started; it may be called again then.
        """
        with self._work:
            row = self._state.read_book()
            self._remove_deleted()
            self._register_quietly()
            if self._entered is not None and row is not None and row.enabled:
                self._take_in(self._entered)
            saves.take_drafts(self._state)
            self._rollout.advance()
            self._rollout.answer_tests()
        self.drop_unused()

    def invalidate_registration(self) -> None:
        """Register again, since the engine may have lost its state."""
        self._state.registration.invalidate()

    def register(self, *, requested: bool = False) -> None:
        """Register what serves with the engine.

        With `requested`, the engine has asked for it, which some engines do every few seconds. Without, the engine did
        not list the skill. Raises UnavailableError or RefusedError.
        """
        if self._rollout.is_held_up:
            # While a save is being loaded, its rollout registers by itself.
            if self._work.acquire(blocking=False):
                try:
                    self._rollout.advance(retry=False)
                finally:
                    self._work.release()
            return
        if self._state.row is None:
            self._state.read_book()
        if not requested and not self.pending:
            # The engine listed it before, so it has lost its state, and not only for this skill.
            self._on_forgotten()
        with self._state.turnover:
            serving = self.serving
            try:
                self._state.registration.register(serving)
            except InvalidError as error:
                # The version served before, so it goes on serving with what the engine knows.
                self._state.registration.settle(serving)
                _log.warning("skill %s: the engine refuses it: %s", self.stem, error)

    def child(self, version: CheckedVersion) -> ChildProcess:
        """Return the running process of a version; raises RefusedSkillError or UnavailableError."""
        return self._state.child(version)

    def separate_child(self, version: CheckedVersion) -> AbstractContextManager[ChildProcess]:
        """Open a process for a call that lost the shared one, see `SkillProcesses.separate_child`."""
        return self._state.separate_child(version)

    def granted(self) -> frozenset[str]:
        """Return what people have granted to it by now."""
        with self._dependencies.reading() as scope:
            return grants.granted_permissions(scope, self.stem)

    def drop_unused(self) -> None:
        """End the processes that are no longer needed."""
        self._state.drop_unused()

    def stop(self) -> None:
        """End all its processes."""
        self._state.processes.stop()

    def _is_offered(self, file: SkillFile) -> bool:
        return self._offered == (file.sha, str(file.path))

    def _take_in(self, file: SkillFile) -> None:
        if saves.consider_file(self._state, file):
            self._rollout.advance()
        self._offered, self._entered = (file.sha, str(file.path)), None

    def _register_quietly(self) -> None:
        """Register a change now; what fails is logged and tried again later."""
        if not self._state.registration.is_pending(self.serving):
            return
        try:
            self.register()
        except LoopwrightError as error:
            _log.warning("skill %s waits to be registered: %s", self.stem, error)

    def _remove_deleted(self) -> None:
        """Remove the file of a deleted skill, if it still holds what was deleted."""
        row = self._state.row
        if row is None or row.status != "retired" or row.origin == "shipped" or not row.refused_sha:
            return
        if self._offered == (row.refused_sha, row.path):
            try:
                Path(row.path).unlink(missing_ok=True)
            except OSError as error:
                _log.warning("the file of skill %s stays: %s", self.stem, error)

"""One skill of the sidecar, moved by its files, the book, the engine and its calls."""

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
    """Saves and moves come one at a time; calls come whenever they like."""

    def __init__(
        self, stem: str, tools: SidecarDependencies, again: Callable[[], None], forgotten: Callable[[], None]
    ) -> None:
        """`again` has it followed soon; `forgotten` is called when the engine lost what it was told."""
        self.stem = stem
        self._tools = tools
        self._forgotten = forgotten
        self._work = threading.Lock()
        self._standing = SkillState(stem, tools)
        self._candidacy = CandidateRollout(self._standing, again)
        self._offered: tuple[str, str] | None = None
        self._noted: SkillFile | None = None
        self.runs = RunVersions(stem, tools, self._standing.turnover, again)

    @property
    def app_id(self) -> str:
        return f"skill-{self.stem}"

    @property
    def epoch(self) -> int:
        """Of the row as this process last saw it."""
        return self._standing.epoch

    @property
    def folder(self) -> Path:
        """Where its file is, or was when it was last seen."""
        return Path(self._standing.path).parent

    @property
    def is_put_away(self) -> bool:
        """Whether it is retired, and nobody waits for its file to go."""
        row = self._standing.row
        return row is not None and row.status == "retired" and not row.refused_sha

    @property
    def serving(self) -> CheckedVersion | None:
        return self._standing.serving

    @property
    def pending(self) -> bool:
        """Whether the engine has yet to hear of something."""
        return self._candidacy.held_up or self._standing.told.is_news(self.serving)

    @property
    def known_to_engine(self) -> bool:
        """Whether the engine should list it, or has yet to hear that it does not serve."""
        return self.serving is not None or self.pending

    def offer(self, file: SkillFile) -> None:
        """The file holds this now: let it take over, or say why not and keep what serves.

        Raises UnavailableError where no process can be started for it; then it may be offered again.
        """
        if self._is_offered(file):
            return
        with self._work:
            self._consider(file)
            self._remove_deleted()
        self.drop_unused()

    def note(self, file: SkillFile) -> bool:
        """Enter the file in the book, unread; whether there is a version of it, or one is wanted."""
        if self._is_offered(file):
            return True
        with self._work:
            row, self._noted = saves.enter_file(self._standing, file), file
        return row.enabled or row.version_id is not None or row.candidate_id is not None

    def unreadable(self, file: SkillFile) -> None:
        """There is a file that cannot be read: whatever serves goes on."""
        with self._work:
            self._offered = None
            saves.refuse_unreadable(self._standing, file)

    def clash(self, files: Sequence[SkillFile]) -> None:
        """Several files bear the name: none of them is taken, and whatever serves goes on."""
        with self._work:
            self._offered = None
            saves.refuse_clash(self._standing, files)

    def missing(self) -> None:
        """The file is gone: no new runs; those that began go on with the code they began with."""
        with self._work:
            self._offered = None
            with self._tools.transaction("skill-retired") as scope:
                control.retire(scope, self.stem, file_gone=True)
            self._standing.look()
            self._tell()
        _log.info("skill %s retired", self.stem)
        self.drop_unused()

    def follow(self) -> None:
        """Somebody moved the skill in the book, or a run of it ended: go where that leads.

        Raises UnavailableError where no process can be started; it may be followed again.
        """
        with self._work:
            row = self._standing.look()
            self._remove_deleted()
            self._tell()
            if self._noted is not None and row is not None and row.enabled:
                self._consider(self._noted)
            saves.take_drafts(self._standing)
            self._candidacy.advance()
            self._candidacy.answer_tests()
        self.drop_unused()

    def tell_anew(self) -> None:
        """The engine may have forgotten it."""
        self._standing.told.tell_anew()

    def register(self, *, asked: bool = False) -> None:
        """Tell the engine what serves, as it does not list it, or has `asked` for it, which some do every few seconds.

        Raises UnavailableError, or RefusedError.
        """
        if self._candidacy.held_up:
            # A save that is being loaded tells the engine itself.
            if self._work.acquire(blocking=False):
                try:
                    self._candidacy.advance(again=False)
                finally:
                    self._work.release()
            return
        if self._standing.row is None:
            self._standing.look()
        if not asked and not self.pending:
            # It listed this one, so it has forgotten, and not this skill alone.
            self._forgotten()
        with self._standing.turnover:
            serving = self.serving
            try:
                self._standing.told.tell(serving)
            except InvalidError as error:
                # It served before, so it goes on serving: the engine keeps what it knows.
                self._standing.told.forget(serving)
                _log.warning("skill %s: the engine refuses it: %s", self.stem, error)

    def child(self, version: CheckedVersion) -> ChildProcess:
        """The living process of a version; raises RefusedSkillError or UnavailableError."""
        return self._standing.child(version)

    def again(self, version: CheckedVersion) -> AbstractContextManager[ChildProcess]:
        """A process of a version for a call that lost its own, as `Processes.again` has it."""
        return self._standing.again(version)

    def granted(self) -> frozenset[str]:
        """What a person has granted to it by now."""
        with self._tools.reading() as scope:
            return grants.granted_permissions(scope, self.stem)

    def drop_unused(self) -> None:
        """End the processes that nobody needs."""
        self._standing.drop_unused()

    def stop(self) -> None:
        """End every process of it."""
        self._standing.processes.stop()

    def _is_offered(self, file: SkillFile) -> bool:
        return self._offered == (file.sha, str(file.path))

    def _consider(self, file: SkillFile) -> None:
        if saves.consider_file(self._standing, file):
            self._candidacy.advance()
        self._offered, self._noted = (file.sha, str(file.path)), None

    def _tell(self) -> None:
        """Tell the engine at once; what it cannot hear is told later."""
        if not self._standing.told.is_news(self.serving):
            return
        try:
            self.register()
        except LoopwrightError as error:
            _log.warning("skill %s waits to be registered: %s", self.stem, error)

    def _remove_deleted(self) -> None:
        """Who deletes a skill deletes its file, if that still holds what was deleted."""
        row = self._standing.row
        if row is None or row.status != "retired" or row.origin == "shipped" or not row.refused_sha:
            return
        if self._offered == (row.refused_sha, row.path):
            try:
                Path(row.path).unlink(missing_ok=True)
            except OSError as error:
                _log.warning("the file of skill %s stays: %s", self.stem, error)

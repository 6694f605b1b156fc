"""State of one skill: what the book says of it, what is registered with the engine, and its processes."""

from __future__ import annotations

import logging
import threading
from contextlib import AbstractContextManager
from dataclasses import dataclass

from core.orchestrator.middleware import SERVE_PATH
from sidecar.pool.child_process import ChildProcess
from sidecar.protocol.registration_state import RegistrationState
from sidecar.rollout.dependencies import SidecarDependencies
from sidecar.rollout.skill_processes import SkillProcesses
from skills.book import skill, versions
from skills.book.versions import CheckedVersion
from skills.format.problem import SkillProblem
from skills.lifecycle import promotion

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class BookState:
    """The skill's row with its versions.

    `serving` is None when no version serves; `last` is the version that serves or served last.
    """

    row: skill.Skill | None = None
    serving: CheckedVersion | None = None
    candidate: CheckedVersion | None = None
    last: CheckedVersion | None = None

    @property
    def runnable_candidate(self) -> CheckedVersion | None:
        """The candidate, if it may run; one that waits for a person's permission may not."""
        if self.row is None or not self.row.enabled or self.candidate is None or self.candidate.stage == "waiting":
            return None
        return self.candidate


def read_book_state(dependencies: SidecarDependencies, stem: str) -> BookState:
    """Read the skill's row and versions."""
    with dependencies.reading() as scope:
        row = skill.find_skill(scope, stem)
        if row is None:
            return BookState()
        last = versions.get_version(scope, row.version_id) if row.version_id else None
        candidate = versions.get_version(scope, row.candidate_id) if row.candidate_id else None
        return BookState(row, last if row.serves else None, candidate, last)


class SkillState:
    """The state of one skill: read from any thread, changed only by the thread that holds the skill's work lock."""

    def __init__(self, stem: str, dependencies: SidecarDependencies) -> None:
        self.stem = stem
        self.dependencies = dependencies
        # Held while a version is registered and takes over: a call that begins a run waits for the outcome.
        self.turnover = threading.RLock()
        self.processes = SkillProcesses(stem, dependencies)
        self.registration = RegistrationState(stem, self.url, dependencies.engine)
        self._book = BookState()

    @property
    def url(self) -> str:
        """The address at which the engine calls the skill."""
        return f"{self.dependencies.url}{SERVE_PATH}/{self.stem}"

    @property
    def row(self) -> skill.Skill | None:
        """The row as this process last read it."""
        return self._book.row

    @property
    def serving(self) -> CheckedVersion | None:
        return self._book.serving

    @property
    def candidate(self) -> CheckedVersion | None:
        return self._book.candidate

    @property
    def last(self) -> CheckedVersion | None:
        """The version that serves, or served last."""
        return self._book.last

    @property
    def epoch(self) -> int:
        return self._book.row.epoch if self._book.row is not None else 0

    @property
    def path(self) -> str:
        return self._book.row.path if self._book.row is not None else ""

    def read_book(self) -> skill.Skill | None:
        """Read the book again and return the skill's row."""
        book = read_book_state(self.dependencies, self.stem)
        with self.turnover:
            if book.row is None or book.row.epoch != self.epoch:
                self.processes.forget_grants()
            self._book = book
        return book.row

    def child(self, version: CheckedVersion) -> ChildProcess:
        """Return the running process of a version; raises RefusedSkillError or UnavailableError."""
        return self.processes.child(version, self.path or f"{self.stem}.py")

    def separate_child(self, version: CheckedVersion) -> AbstractContextManager[ChildProcess]:
        """Open a process for a call that lost the shared one, see `SkillProcesses.separate_child`."""
        return self.processes.separate_child(version, self.path or f"{self.stem}.py")

    def drop_unused(self) -> None:
        """End the processes that are no longer needed."""
        book = self._book
        self.processes.drop_unused(
            {version.sha for version in (book.serving, book.runnable_candidate) if version is not None}
        )

    def refuse(self, sha: str, problems: tuple[SkillProblem, ...]) -> None:
        """Record that the code with this hash will not serve, and why; what serves goes on."""
        _log.warning("skill %s refused: %s", self.stem, "; ".join(problem.reason for problem in problems))
        with self.dependencies.transaction("skill-refused") as scope:
            promotion.refuse_version(scope, self.stem, sha, problems)
        self.read_book()
        self.drop_unused()

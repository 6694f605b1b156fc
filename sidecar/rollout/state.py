"""State of one skill: what the book says of it, what the engine was told, and its processes."""

from __future__ import annotations

import logging
import threading
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from core.orchestrator.middleware import SERVE_PATH
from core.orchestrator.registration import engine_lists_app
from sidecar.pool.child_process import ChildProcess
from sidecar.protocol.registration import address_functions, register_app
from sidecar.rollout.dependencies import SidecarDependencies
from sidecar.rollout.skill_processes import SkillProcesses
from skills.book import skill, versions
from skills.book.versions import CheckedVersion
from skills.format.problem import SkillProblem
from skills.lifecycle import promotion


@dataclass(frozen=True)
class BookState:
    """The skill's row with the versions that it names; `serving` only while one serves, `last` also afterwards."""

    row: skill.Skill | None = None
    serving: CheckedVersion | None = None
    candidate: CheckedVersion | None = None
    last: CheckedVersion | None = None

    @property
    def tried(self) -> CheckedVersion | None:
        """The candidate, if it may run: what waits for a person starts anew with what it was granted."""
        if self.row is None or not self.row.enabled or self.candidate is None or self.candidate.stage == "waiting":
            return None
        return self.candidate


def read_book_state(tools: SidecarDependencies, stem: str) -> BookState:
    with tools.reading() as scope:
        row = skill.find_skill(scope, stem)
        if row is None:
            return BookState()
        last = versions.get_version(scope, row.version_id) if row.version_id else None
        candidate = versions.get_version(scope, row.candidate_id) if row.candidate_id else None
        return BookState(row, last if row.serves else None, candidate, last)


class RegistrationState:
    """Remembers what this process told the engine, since a start tells everything anew."""

    def __init__(self, stem: str, url: str, tools: SidecarDependencies) -> None:
        self._app_id = f"skill-{stem}"
        self._url = url
        self._tools = tools
        self._lock = threading.Lock()
        self._told: str | None = None

    def is_news(self, version: CheckedVersion | None) -> bool:
        """Whether the engine has yet to hear that this serves."""
        return self._told != _version_id(version)

    def tell(self, version: CheckedVersion | None) -> None:
        """Raises InvalidError with the engine's reason, RefusedError for our key, or UnavailableError."""
        functions: list[dict[str, Any]] = address_functions(version, self._url) if version is not None else []
        with self._lock:
            if functions or self._told is not None or engine_lists_app(self._tools.engine, self._app_id):
                register_app(
                    self._tools.engine, self._app_id, self._url, functions, version.sha if version is not None else ""
                )
            self._told = _version_id(version)

    def tell_anew(self) -> None:
        """What was told counts as untold."""
        self._told = None

    def forget(self, version: CheckedVersion | None) -> None:
        """The engine refuses it, and keeps what it knows: there is nothing more to tell."""
        self._told = _version_id(version)


def _version_id(version: CheckedVersion | None) -> str:
    return version.id if version is not None else ""


_log = logging.getLogger(__name__)


class SkillState:
    """Looked at from any thread; moved by whoever holds the skill's work."""

    def __init__(self, stem: str, tools: SidecarDependencies) -> None:
        self.stem = stem
        self.tools = tools
        # Held while a version is registered and takes over: a call that begins a run waits for the outcome.
        self.turnover = threading.RLock()
        self.processes = SkillProcesses(stem, tools)
        self.told = RegistrationState(stem, self.url, tools)
        self._seen = BookState()

    @property
    def url(self) -> str:
        return f"{self.tools.url}{SERVE_PATH}/{self.stem}"

    @property
    def row(self) -> skill.Skill | None:
        """As this process last saw it."""
        return self._seen.row

    @property
    def serving(self) -> CheckedVersion | None:
        return self._seen.serving

    @property
    def candidate(self) -> CheckedVersion | None:
        return self._seen.candidate

    @property
    def last(self) -> CheckedVersion | None:
        """What serves, or served last."""
        return self._seen.last

    @property
    def epoch(self) -> int:
        return self._seen.row.epoch if self._seen.row is not None else 0

    @property
    def path(self) -> str:
        return self._seen.row.path if self._seen.row is not None else ""

    def look(self) -> skill.Skill | None:
        """Read the book anew."""
        seen = read_book_state(self.tools, self.stem)
        with self.turnover:
            if seen.row is None or seen.row.epoch != self.epoch:
                self.processes.forget_grants()
            self._seen = seen
        return seen.row

    def child(self, version: CheckedVersion) -> ChildProcess:
        """The living process of a version; raises RefusedSkillError or UnavailableError."""
        return self.processes.child(version, self.path or f"{self.stem}.py")

    def again(self, version: CheckedVersion) -> AbstractContextManager[ChildProcess]:
        """A process of a version for a call that lost its own, as `Processes.again` has it."""
        return self.processes.again(version, self.path or f"{self.stem}.py")

    def drop_unused(self) -> None:
        """End the processes that nobody needs."""
        seen = self._seen
        self.processes.drop_unused({version.sha for version in (seen.serving, seen.tried) if version is not None})

    def turn_down(self, sha: str, problems: tuple[SkillProblem, ...]) -> None:
        """What was saved with this hash will not serve: whatever serves goes on."""
        _log.warning("skill %s refused: %s", self.stem, "; ".join(problem.reason for problem in problems))
        with self.tools.transaction("skill-refused") as scope:
            promotion.refuse_version(scope, self.stem, sha, problems)
        self.look()
        self.drop_unused()

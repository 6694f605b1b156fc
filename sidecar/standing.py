"""Where one skill stands: what the book says of it, what the engine was told, and the processes it has."""

from __future__ import annotations

import logging
import threading
from contextlib import AbstractContextManager

from core.orchestrator.middleware import SERVE_PATH
from sidecar.children import Child
from sidecar.processes import Processes
from sidecar.seen import Seen, look
from sidecar.told import Told
from sidecar.tools import Tools
from skills import book, promotion
from skills.problem import Problem
from skills.versions import Version

_log = logging.getLogger(__name__)


class Standing:
    """Looked at from any thread; moved by whoever holds the skill's work."""

    def __init__(self, stem: str, tools: Tools) -> None:
        self.stem = stem
        self.tools = tools
        # Held while a version is registered and takes over: a call that begins a run waits for the outcome.
        self.turnover = threading.RLock()
        self.processes = Processes(stem, tools)
        self.told = Told(stem, self.url, tools)
        self._seen = Seen()

    @property
    def url(self) -> str:
        return f"{self.tools.url}{SERVE_PATH}/{self.stem}"

    @property
    def row(self) -> book.Skill | None:
        """As this process last saw it."""
        return self._seen.row

    @property
    def serving(self) -> Version | None:
        return self._seen.serving

    @property
    def candidate(self) -> Version | None:
        return self._seen.candidate

    @property
    def last(self) -> Version | None:
        """What serves, or served last."""
        return self._seen.last

    @property
    def epoch(self) -> int:
        return self._seen.row.epoch if self._seen.row is not None else 0

    @property
    def path(self) -> str:
        return self._seen.row.path if self._seen.row is not None else ""

    def look(self) -> book.Skill | None:
        """Read the book anew."""
        seen = look(self.tools, self.stem)
        with self.turnover:
            if seen.row is None or seen.row.epoch != self.epoch:
                self.processes.forget_grants()
            self._seen = seen
        return seen.row

    def child(self, version: Version) -> Child:
        """The living process of a version; raises RefusedSkillError or UnavailableError."""
        return self.processes.child(version, self.path or f"{self.stem}.py")

    def again(self, version: Version) -> AbstractContextManager[Child]:
        """A process of a version for a call that lost its own, as `Processes.again` has it."""
        return self.processes.again(version, self.path or f"{self.stem}.py")

    def drop_unused(self) -> None:
        """End the processes that nobody needs."""
        seen = self._seen
        self.processes.drop_unused({version.sha for version in (seen.serving, seen.tried) if version is not None})

    def turn_down(self, sha: str, problems: tuple[Problem, ...]) -> None:
        """What was saved with this hash will not serve: whatever serves goes on."""
        _log.warning("skill %s refused: %s", self.stem, "; ".join(problem.reason for problem in problems))
        with self.tools.transaction("skill-refused") as scope:
            promotion.refuse(scope, self.stem, sha, problems)
        self.look()
        self.drop_unused()

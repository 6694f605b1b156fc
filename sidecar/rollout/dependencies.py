"""Dependencies that all skills of a sidecar share: database, engine, spawner, checks and rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from core.database import Database, Scope
from core.identity import HOME_WORKSPACE
from core.orchestrator.engine import Engine
from sidecar.pool.spawner import Spawner
from sidecar.rollout.work_queue import WorkerSlots
from sidecar.watch.folders import SkillFile
from skills.book.runs import SkillRun
from skills.book.versions import CheckedVersion
from skills.format.problem import SkillProblem
from skills.lifecycle.decision import Trial

_WORKER_SLOTS = 8
CheckFile = Callable[[SkillFile], list[SkillProblem]]
"""Return what is wrong with a file, without running it."""


@dataclass(frozen=True)
class RolloutRules:
    """The settings of the life cycle. A process is stopped after `idle` seconds without a call."""

    canary_runs: int = 3
    shadow_runs: int = 1
    always_ask: bool = False
    failures: int = 3
    idle: float = 600.0


class RehearseVersion(Protocol):
    """Try a version on runs of the version that serves, with simulated effects.

    With `live`, reads go to the real services. Otherwise they are answered from the recordings.
    """

    def __call__(self, version: CheckedVersion, runs: list[SkillRun], *, live: bool) -> Trial: ...


KeepMemos = Callable[[str, str, Mapping[str, Any]], None]
"""Keep what the engine remembers of a completed run's steps; takes the skill's stem, the run's id and the memos."""


def keep_no_memos(stem: str, run_id: str, memos: Mapping[str, Any]) -> None:
    del stem, run_id, memos


@dataclass(frozen=True)
class SidecarDependencies:
    """What a skill needs from its sidecar.

    `checkers` run a check while a child process loads the file. `worker_slots` limit how many skills are worked on at a
    time; there are more threads than slots. `keep_memos` adds to the recording on which a later version is rehearsed.
    """

    database: Database
    engine: Engine
    url: str
    spawner: Spawner
    check: CheckFile
    rehearse: RehearseVersion
    checkers: Executor
    rules: RolloutRules = field(default_factory=RolloutRules)
    keep_memos: KeepMemos = keep_no_memos
    worker_slots: WorkerSlots = field(default_factory=lambda: WorkerSlots(_WORKER_SLOTS))
    workspace_id: str = HOME_WORKSPACE

    def reading(self) -> AbstractContextManager[Scope]:
        """Open a reading session in the home's workspace."""
        return self.database.reading(self.workspace_id)

    def transaction(self, name: str) -> AbstractContextManager[Scope]:
        """Open a named transaction in the home's workspace."""
        return self.database.transaction(self.workspace_id, name)

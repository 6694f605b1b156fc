"""Dependencies that every skill of a sidecar shares: database, engine, spawner, checks and rules."""

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
"""What is wrong with a file, without running it."""


@dataclass(frozen=True)
class RolloutRules:
    """The settings of the life cycle; `idle` seconds without a call stop a process."""

    canary_runs: int = 3
    shadow_runs: int = 1
    always_ask: bool = False
    failures: int = 3
    idle: float = 600.0


class RehearseVersion(Protocol):
    """Try a version on runs of the one that serves, with effects faked; `live` reads for real, not from records."""

    def __call__(self, version: CheckedVersion, runs: list[SkillRun], *, live: bool) -> Trial: ...


KeepMemos = Callable[[str, str, Mapping[str, Any]], None]
"""Told a skill's stem, a run of it that completed, and what the engine remembers of its steps."""


def forget_memos(stem: str, run_id: str, memos: Mapping[str, Any]) -> None:
    """Keep nothing."""
    del stem, run_id, memos


@dataclass(frozen=True)
class SidecarDependencies:
    """`check` and `rehearse` are handed in; `checkers` run a check while a child loads the file. `lanes` are for who
    works, and there are more threads than lanes.

    `keep_memos` adds to the recording that a later version is rehearsed on.
    """

    database: Database
    engine: Engine
    url: str
    nursery: Spawner
    check: CheckFile
    rehearse: RehearseVersion
    checkers: Executor
    rules: RolloutRules = field(default_factory=RolloutRules)
    keep_memos: KeepMemos = forget_memos
    lanes: WorkerSlots = field(default_factory=lambda: WorkerSlots(_WORKER_SLOTS))
    workspace_id: str = HOME_WORKSPACE

    def reading(self) -> AbstractContextManager[Scope]:
        return self.database.reading(self.workspace_id)

    def transaction(self, name: str) -> AbstractContextManager[Scope]:
        return self.database.transaction(self.workspace_id, name)

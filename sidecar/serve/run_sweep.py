"""Sweep for runs that nobody calls for any more: a cancelled one is not heard of again, but the engine knows."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from core.errors import LoopwrightError, NotFoundError
from core.orchestrator.run_facts import unwrap_error
from sidecar.rollout.dependencies import SidecarDependencies
from sidecar.rollout.served_skill import ServedSkill
from skills.book import runs
from skills.book.runs import EndStatus, SkillRun
from skills.lifecycle.infrastructure_errors import is_infrastructure_error

_END_STATUSES: dict[str, EndStatus] = {"completed": "completed", "failed": "failed", "cancelled": "cancelled"}
_LONGEST_PAUSE = 1800.0


class RunSweep:
    """Asks after each run again later and later: one that sleeps for weeks is no work."""

    def __init__(self, tools: SidecarDependencies, skill: Callable[[str], ServedSkill | None], quiet: float) -> None:
        self._tools = tools
        self._skill = skill
        self._quiet = quiet
        self._later: dict[str, tuple[float, float]] = {}

    def once(self) -> None:
        with self._tools.reading() as scope:
            silent = runs.list_quiet_runs(scope, scope.now - timedelta(seconds=self._quiet), 500)
        now = time.monotonic()
        known = {run.run_id for run in silent}
        self._later = {run_id: when for run_id, when in self._later.items() if run_id in known}
        for run in silent:
            at, pause = self._later.get(run.run_id, (0.0, self._quiet))
            if now >= at:
                self._later[run.run_id] = (now + pause, min(pause * 2, _LONGEST_PAUSE))
                self._ask_after(run)

    def _ask_after(self, run: SkillRun) -> None:
        skill = self._skill(run.skill_id)
        if skill is None:
            return
        try:
            found = (self._tools.engine.get(f"/v1/runs/{run.run_id}") or {}).get("data", {})
        except NotFoundError:
            skill.runs.ended(run.run_id, "lost")
            return
        except LoopwrightError:
            return
        status = _END_STATUSES.get(str(found.get("status", "")).lower())
        if status is None:
            return
        told: Any = found.get("output")
        error = unwrap_error(told) if status == "failed" else None
        output = told if status == "completed" else None
        skill.runs.ended(run.run_id, status, output=output, error=error, served=not is_infrastructure_error(error))

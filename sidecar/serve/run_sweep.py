"""Sweep for runs that are no longer called, such as cancelled ones, and ask the engine how they ended."""

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
    """Asks the engine about quiet runs, after a pause that doubles for each run: some sleep for weeks."""

    def __init__(
        self, dependencies: SidecarDependencies, skill: Callable[[str], ServedSkill | None], quiet: float
    ) -> None:
        self._dependencies = dependencies
        self._skill = skill
        self._quiet = quiet
        self._next_checks: dict[str, tuple[float, float]] = {}

    def run_once(self) -> None:
        """Ask about every quiet run whose pause is over, and record the ends."""
        with self._dependencies.reading() as scope:
            quiet_runs = runs.list_quiet_runs(scope, scope.now - timedelta(seconds=self._quiet), 500)
        now = time.monotonic()
        known = {run.run_id for run in quiet_runs}
        self._next_checks = {run_id: when for run_id, when in self._next_checks.items() if run_id in known}
        for run in quiet_runs:
            at, pause = self._next_checks.get(run.run_id, (0.0, self._quiet))
            if now >= at:
                self._next_checks[run.run_id] = (now + pause, min(pause * 2, _LONGEST_PAUSE))
                self._check_run(run)

    def _check_run(self, run: SkillRun) -> None:
        skill = self._skill(run.skill_id)
        if skill is None:
            return
        try:
            found = (self._dependencies.engine.get(f"/v1/runs/{run.run_id}") or {}).get("data", {})
        except NotFoundError:
            skill.runs.record_end(run.run_id, "lost")
            return
        except LoopwrightError:
            return
        status = _END_STATUSES.get(str(found.get("status", "")).lower())
        if status is None:
            return
        output_or_error: Any = found.get("output")
        error = unwrap_error(output_or_error) if status == "failed" else None
        output = output_or_error if status == "completed" else None
        skill.runs.record_end(run.run_id, status, output=output, error=error, served=not is_infrastructure_error(error))

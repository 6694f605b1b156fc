"""A change is tried before it serves: on recorded runs, then on those that happen beside it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sidecar.tools import Tools
from skills import promotion, runs
from skills.lifecycle import Trial
from skills.versions import Version

PAST_RUNS = 5
"""Recorded runs of the version that serves on which a change is tried, the newest ones."""


def dry_run(tools: Tools, serving: Version, candidate: Version) -> None:
    """Try it on what happened before, and write down how that went."""
    with tools.transaction("skill-stage") as scope:
        promotion.stage(scope, candidate.skill_id, candidate, "dry_run")
        past = runs.completed(scope, serving.id, PAST_RUNS)
    trial = tools.rehearse(candidate, past, live=False)
    with tools.transaction("skill-stage") as scope:
        facts: dict[str, Any] = {"dry_run": _known(trial)}
        promotion.stage(scope, candidate.skill_id, candidate, "dry_run", **facts)


def begin_shadow(tools: Tools, candidate: Version) -> None:
    """From now on it is tried on what the version that serves is asked."""
    with tools.transaction("skill-stage") as scope:
        shadow = {**_known(Trial()), "since": scope.now.isoformat()}
        promotion.stage(scope, candidate.skill_id, candidate, "shadow", shadow=shadow)


def shadow(tools: Tools, serving: Version, candidate: Version) -> bool:
    """Try it on the runs that ended since; False when there are none to try it on yet."""
    so_far = candidate.stage_facts["shadow"]
    since = datetime.fromisoformat(so_far["since"])
    with tools.reading() as scope:
        fresh = [run for run in runs.completed(scope, serving.id, PAST_RUNS) if run.ended_at and run.ended_at > since]
    if not fresh:
        return False
    trial = tools.rehearse(candidate, fresh[::-1], live=True)
    with tools.transaction("skill-stage") as scope:
        total = Trial(int(so_far["runs"]) + trial.runs, trial.failed, trial.differences)
        ended = max(run.ended_at for run in fresh if run.ended_at is not None)
        facts = {**_known(total), "since": ended.isoformat()}
        promotion.stage(scope, candidate.skill_id, candidate, "shadow", shadow=facts)
    return trial.runs > 0


def _known(trial: Trial) -> dict[str, Any]:
    return {"runs": trial.runs, "failed": trial.failed, "differences": list(trial.differences)}

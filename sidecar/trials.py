"""A change is tried before it serves: on recorded runs, then on those that happen beside it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sidecar.tools import Tools
from skills import promotion, runs, versions
from skills.lifecycle import Trial
from skills.runs import SkillRun
from skills.versions import Version

PAST_RUNS = 5
"""Recorded runs of one version on which a change is tried, the newest ones."""


def dry_run(tools: Tools, serving: Version | None, candidate: Version) -> None:
    """Try it on what happened before, and write down how that went.

    Where nothing ran well on the version that serves yet, or none serves, that is what ran on the one before.
    """
    with tools.transaction("skill-stage") as scope:
        promotion.stage(scope, candidate.skill_id, candidate, "dry_run")
        past = runs.completed(scope, serving.id, PAST_RUNS) if serving is not None else []
        last = runs.last_completed(scope, candidate.skill_id)
        if not past and last is not None:
            past = runs.completed(scope, last.version_id, PAST_RUNS)
        against = versions.get(scope, past[0].version_id) if past else serving
    trial = tools.rehearse(candidate, past, live=False)
    with tools.transaction("skill-stage") as scope:
        about = {"against": against.number} if against is not None else {}
        facts: dict[str, Any] = {"dry_run": {**_known(trial), **about}}
        promotion.stage(scope, candidate.skill_id, candidate, "dry_run", **facts)


def begin_shadow(tools: Tools, serving: Version, candidate: Version) -> None:
    """From now on it is tried on what the version that serves is asked."""
    with tools.transaction("skill-stage") as scope:
        about = {"against": serving.number, "of": tools.rules.shadow_runs}
        shadow = {**_known(Trial()), **about, "since": scope.now.isoformat()}
        promotion.stage(scope, candidate.skill_id, candidate, "shadow", shadow=shadow)


def fresh_runs(tools: Tools, serving: Version, candidate: Version) -> list[SkillRun]:
    """The runs that ended well since its shadow began, or since it was last tried; the oldest first."""
    since = datetime.fromisoformat(candidate.stage_facts["shadow"]["since"])
    with tools.reading() as scope:
        ended = runs.completed(scope, serving.id, PAST_RUNS)
    return [run for run in reversed(ended) if run.ended_at is not None and run.ended_at > since]


def shadow(tools: Tools, candidate: Version, fresh: list[SkillRun]) -> None:
    """Try it on runs that ended meanwhile."""
    so_far = candidate.stage_facts["shadow"]
    trial = tools.rehearse(candidate, fresh, live=True)
    silent = int(so_far.get("silent", 0)) + trial.silent
    total = Trial(int(so_far["runs"]) + trial.runs, trial.failed, trial.differences, silent)
    last = max(run.ended_at for run in fresh if run.ended_at is not None)
    facts = {**so_far, **_known(total), "since": last.isoformat()}
    with tools.transaction("skill-stage") as scope:
        promotion.stage(scope, candidate.skill_id, candidate, "shadow", shadow=facts)


def _known(trial: Trial) -> dict[str, Any]:
    told = {"runs": trial.runs, "failed": trial.failed, "silent": trial.silent}
    return {**told, "differences": list(trial.differences)}

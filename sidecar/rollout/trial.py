"""Trials of a version: on recorded runs, on runs that happen beside it, and when a person asks for one."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any

from sidecar.rollout.dependencies import SidecarDependencies
from skills.book import runs, versions
from skills.book.runs import SkillRun
from skills.book.versions import CheckedVersion
from skills.lifecycle import manual_test, promotion
from skills.lifecycle.decision import Trial
from skills.lifecycle.manual_test import ManualTest

PAST_RUNS = 5
"""Recorded runs of one version on which a change is tried, the newest ones."""


def try_past_runs(tools: SidecarDependencies, serving: CheckedVersion | None, candidate: CheckedVersion) -> None:
    """Try it on what happened before, and write down how that went.

    Where nothing ran well on the version that serves yet, or none serves, that is what ran on the one before.
    """
    with tools.transaction("skill-stage") as scope:
        promotion.set_candidate_stage(scope, candidate.skill_id, candidate, "dry_run")
        past = runs.list_completed_runs(scope, serving.id, PAST_RUNS) if serving is not None else []
        last = runs.find_last_completed_run(scope, candidate.skill_id)
        if not past and last is not None:
            past = runs.list_completed_runs(scope, last.version_id, PAST_RUNS)
        against = versions.get_version(scope, past[0].version_id) if past else serving
    trial = tools.rehearse(candidate, past, live=False)
    with tools.transaction("skill-stage") as scope:
        about = {"against": against.number} if against is not None else {}
        facts: dict[str, Any] = {"dry_run": {**_trial_facts(trial), **about}}
        promotion.set_candidate_stage(scope, candidate.skill_id, candidate, "dry_run", **facts)


def begin_shadow(tools: SidecarDependencies, serving: CheckedVersion, candidate: CheckedVersion) -> None:
    """From now on it is tried on what the version that serves is asked."""
    with tools.transaction("skill-stage") as scope:
        about = {"against": serving.number, "of": tools.rules.shadow_runs}
        shadow = {**_trial_facts(Trial()), **about, "since": scope.now.isoformat()}
        promotion.set_candidate_stage(scope, candidate.skill_id, candidate, "shadow", shadow=shadow)


def list_fresh_runs(tools: SidecarDependencies, serving: CheckedVersion, candidate: CheckedVersion) -> list[SkillRun]:
    """The runs that ended well since its shadow began, or since it was last tried; the oldest first."""
    since = datetime.fromisoformat(candidate.stage_facts["shadow"]["since"])
    with tools.reading() as scope:
        ended = runs.list_completed_runs(scope, serving.id, PAST_RUNS)
    return [run for run in reversed(ended) if run.ended_at is not None and run.ended_at > since]


def try_fresh_runs(tools: SidecarDependencies, candidate: CheckedVersion, fresh: list[SkillRun]) -> None:
    """Try it on runs that ended meanwhile."""
    so_far = candidate.stage_facts["shadow"]
    trial = tools.rehearse(candidate, fresh, live=True)
    silent = int(so_far.get("silent", 0)) + trial.silent
    total = Trial(int(so_far["runs"]) + trial.runs, trial.failed, trial.differences, silent)
    last = max(run.ended_at for run in fresh if run.ended_at is not None)
    facts = {**so_far, **_trial_facts(total), "since": last.isoformat()}
    with tools.transaction("skill-stage") as scope:
        promotion.set_candidate_stage(scope, candidate.skill_id, candidate, "shadow", shadow=facts)


def _trial_facts(trial: Trial) -> dict[str, Any]:
    told = {"runs": trial.runs, "failed": trial.failed, "silent": trial.silent}
    return {**told, "differences": list(trial.differences)}


def has_open_test(version: CheckedVersion) -> bool:
    """Whether somebody waits for it to be tried."""
    asked = manual_test.read_test(version)
    return asked is not None and asked.trial is None


def run_manual_test(tools: SidecarDependencies, version: CheckedVersion) -> bool:
    """Try the version as it was asked, and write down how that went; False when nobody waits for it."""
    asked = manual_test.read_test(version)
    if asked is None or asked.trial is not None:
        return False
    trial = tools.rehearse(version, [_make_test_run(tools, version, asked)], live=True)
    with tools.transaction("skill-tested") as scope:
        manual_test.record_test_result(scope, version, asked.cause, trial)
    return True


def _make_test_run(tools: SidecarDependencies, version: CheckedVersion, asked: ManualTest) -> SkillRun:
    """A run that never was: nothing of it is recorded, and it returned nothing."""
    with tools.reading() as scope:
        now = scope.now
    return SkillRun(
        run_id=f"test-{hashlib.sha256(asked.cause.encode()).hexdigest()[:16]}",
        skill_id=version.skill_id,
        function_id=asked.function_id,
        version_id=version.id,
        handler=version.is_handler(asked.function_id),
        stage="live",
        status="completed",
        attempts=1,
        event=asked.event,
        output=None,
        error=None,
        began_at=now,
        called_at=now,
        ended_at=now,
    )

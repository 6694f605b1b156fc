"""Trials of a version: on recorded runs, on runs that end while it is in its shadow, and on a person's request."""

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
"""How many recorded runs a change is tried on: the newest ones of one version."""


def try_past_runs(dependencies: SidecarDependencies, serving: CheckedVersion | None, candidate: CheckedVersion) -> None:
    """Try a candidate on recorded runs and store the result.

    Uses the runs of the version that serves. Where it has no completed run, or no version serves, uses those of the
    version that completed one last.
    """
    with dependencies.transaction("skill-stage") as scope:
        promotion.set_candidate_stage(scope, candidate.skill_id, candidate, "dry_run")
        past = runs.list_completed_runs(scope, serving.id, PAST_RUNS) if serving is not None else []
        last = runs.find_last_completed_run(scope, candidate.skill_id)
        if not past and last is not None:
            past = runs.list_completed_runs(scope, last.version_id, PAST_RUNS)
        against = versions.get_version(scope, past[0].version_id) if past else serving
    trial = dependencies.rehearse(candidate, past, live=False)
    with dependencies.transaction("skill-stage") as scope:
        against_facts = {"against": against.number} if against is not None else {}
        facts: dict[str, Any] = {"dry_run": {**_trial_facts(trial), **against_facts}}
        promotion.set_candidate_stage(scope, candidate.skill_id, candidate, "dry_run", **facts)


def start_shadow(dependencies: SidecarDependencies, serving: CheckedVersion, candidate: CheckedVersion) -> None:
    """Begin the shadow: from now on the candidate is tried on events of the version that serves."""
    with dependencies.transaction("skill-stage") as scope:
        against_facts = {"against": serving.number, "of": dependencies.rules.shadow_runs}
        shadow = {**_trial_facts(Trial()), **against_facts, "since": scope.now.isoformat()}
        promotion.set_candidate_stage(scope, candidate.skill_id, candidate, "shadow", shadow=shadow)


def list_fresh_runs(
    dependencies: SidecarDependencies, serving: CheckedVersion, candidate: CheckedVersion
) -> list[SkillRun]:
    """Return the runs that completed since the shadow began or the candidate was last tried, the oldest first."""
    since = datetime.fromisoformat(candidate.stage_facts["shadow"]["since"])
    with dependencies.reading() as scope:
        ended = runs.list_completed_runs(scope, serving.id, PAST_RUNS)
    return [run for run in reversed(ended) if run.ended_at is not None and run.ended_at > since]


def try_fresh_runs(dependencies: SidecarDependencies, candidate: CheckedVersion, fresh: list[SkillRun]) -> None:
    """Try a candidate on runs that ended since the last trial, and add to the stored result."""
    so_far = candidate.stage_facts["shadow"]
    trial = dependencies.rehearse(candidate, fresh, live=True)
    silent = int(so_far.get("silent", 0)) + trial.silent
    total = Trial(int(so_far["runs"]) + trial.runs, trial.failed, trial.differences, silent)
    last = max(run.ended_at for run in fresh if run.ended_at is not None)
    facts = {**so_far, **_trial_facts(total), "since": last.isoformat()}
    with dependencies.transaction("skill-stage") as scope:
        promotion.set_candidate_stage(scope, candidate.skill_id, candidate, "shadow", shadow=facts)


def _trial_facts(trial: Trial) -> dict[str, Any]:
    counts = {"runs": trial.runs, "failed": trial.failed, "silent": trial.silent}
    return {**counts, "differences": list(trial.differences)}


def has_open_test(version: CheckedVersion) -> bool:
    """Return whether a manual test of the version was asked for and has no result yet."""
    test = manual_test.read_test(version)
    return test is not None and test.trial is None


def run_manual_test(dependencies: SidecarDependencies, version: CheckedVersion) -> bool:
    """Run the manual test of a version and store the result; return False when none is open."""
    test = manual_test.read_test(version)
    if test is None or test.trial is not None:
        return False
    trial = dependencies.rehearse(version, [_make_test_run(dependencies, version, test)], live=True)
    with dependencies.transaction("skill-tested") as scope:
        manual_test.record_test_result(scope, version, test.cause, trial)
    return True


def _make_test_run(dependencies: SidecarDependencies, version: CheckedVersion, test: ManualTest) -> SkillRun:
    """Make a run from the test's event, without recording or output."""
    with dependencies.reading() as scope:
        now = scope.now
    return SkillRun(
        run_id=f"test-{hashlib.sha256(test.cause.encode()).hexdigest()[:16]}",
        skill_id=version.skill_id,
        function_id=test.function_id,
        version_id=version.id,
        handler=version.is_handler(test.function_id),
        stage="live",
        status="completed",
        attempts=1,
        event=test.event,
        output=None,
        error=None,
        began_at=now,
        called_at=now,
        ended_at=now,
    )

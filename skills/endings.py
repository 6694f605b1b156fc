"""The end of a run, written down once, and what follows from it for the version that ran."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from core.database import Scope
from skills import limits, promotion, runs, versions
from skills.runs import LIMITED, UNSERVED, Ended, SkillRun
from skills.versions import Version


def note(
    scope: Scope,
    run_id: str,
    status: Ended,
    *,
    most: int,
    output: Any = None,
    error: Any = None,
    attempts: int = 0,
    at: datetime | None = None,
    was: str = "running",
    served: bool = True,
) -> bool:
    """Write down how a run ended; False when the run is not known, or stands otherwise than as it `was`.

    `most` failures in a row end the service of a version. None of them is a run that ended because nobody `served` it,
    or that failed while a limit of its skill was a question to people or was left as it is.
    Without `attempts` those that are known stay.
    """
    run = runs.find(scope, run_id)
    if run is None:
        return False
    version = versions.get(scope, run.version_id)
    tries = attempts or (run.attempts if served else version.attempts_of(run.function_id))
    told = {"output": output, "error": error, "attempts": tries, "at": at, "was": was}
    limited = served and status == "failed" and run.stage in ("live", "canary") and limits.is_met(scope, run.skill_id)
    if not runs.ended(scope, run_id, status, stage=LIMITED if limited else None if served else UNSERVED, **told):
        return False
    scope.changed("skill", run.skill_id)
    if served and not limited:
        _judge(scope, run, version, status, most)
    return True


def _judge(scope: Scope, run: SkillRun, version: Version, status: Ended, most: int) -> None:
    if run.stage != "live" or run.handler:
        return
    match status:
        case "completed":
            promotion.run_completed(scope, run.skill_id, version)
        case "failed":
            promotion.run_failed(scope, run.skill_id, version, run.function_id, run.run_id, most)
        case "cancelled" | "lost":
            pass

"""Record the end of a run once, as the sidecar or the engine reports it, and apply it to the version that ran.

The engine reports every end, even of a run that no process served, and its word wins over the sidecar's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from core.database import Database, Scope
from core.identity import HOME_WORKSPACE
from core.orchestrator.run_facts import queue_time
from skills.book import runs, versions
from skills.book.runs import LIMITED, UNSERVED, EndStatus, SkillRun
from skills.book.skill import find_skill, list_skills, lock_skill, touch_skill
from skills.book.versions import CheckedVersion
from skills.lifecycle import budget_card, promotion
from skills.lifecycle.infrastructure_errors import is_infrastructure_error


def end_run(
    scope: Scope,
    run_id: str,
    status: EndStatus,
    *,
    most: int,
    output: Any = None,
    error: Any = None,
    attempts: int = 0,
    at: datetime | None = None,
    was: str = "running",
    served: bool = True,
) -> bool:
    """Record how a run ended; return False if the run is unknown or its status is not `was`.

    `most` failures in a row quarantine a version. A run that was not `served`, or that failed while a spending limit of
    its skill was reached, does not count as a failure. With `attempts` 0 the recorded number stays.
    """
    run = runs.find_run(scope, run_id)
    if run is None:
        return False
    version = versions.get_version(scope, run.version_id)
    tries = attempts or (run.attempts if served else version.attempts_of(run.function_id))
    told = {"output": output, "error": error, "attempts": tries, "at": at, "was": was}
    limited = (
        served
        and status == "failed"
        and run.stage in ("live", "canary")
        and budget_card.is_limit_reached(scope, run.skill_id)
    )
    if not runs.record_run_end(
        scope, run_id, status, stage=LIMITED if limited else None if served else UNSERVED, **told
    ):
        return False
    scope.changed("skill", run.skill_id)
    if served and not limited:
        _apply_end(scope, run, version, status, most)
    return True


def _apply_end(scope: Scope, run: SkillRun, version: CheckedVersion, status: EndStatus, most: int) -> None:
    if run.stage != "live" or run.handler:
        return
    match status:
        case "completed":
            promotion.apply_completed_run(scope, run.skill_id, version)
        case "failed":
            promotion.apply_failed_run(scope, run.skill_id, version, run.function_id, run.run_id, most)
        case "cancelled" | "lost":
            pass


SKILL_APP_PREFIX = "skill-"
"""Prefix of the engine-wide function ids of every skill."""


@dataclass(frozen=True)
class EndedRun:
    """A run end as the engine reports it. `function` is the engine-wide id, `event` the event that began the run."""

    function: str
    run_id: str
    status: EndStatus
    at: datetime
    output: Any = None
    error: Any = None
    event: Any = None


def record_engine_end(database: Database, end: EndedRun, failures: int) -> str:
    """Record how a run of a skill ended, once; return what that changed.

    `known`: it was recorded already, usually by the sidecar.
    `ended`: it was still running.
    `corrected`: it was recorded with another status, and the engine's wins.
    `entered`: the sidecar never saw the run.
    `not ours`: the function belongs to no known skill.
    `failures` in a row quarantine a version; runs that no process answered do not count.
    """
    with database.reading(HOME_WORKSPACE) as scope:
        known = runs.find_run(scope, end.run_id)
    if known is not None and known.status == end.status:
        return "known"
    with database.transaction(HOME_WORKSPACE, "skill-run-end") as scope:
        return _record_known_end(scope, end, failures) or _record_unseen_end(scope, end)


def _record_known_end(scope: Scope, end: EndedRun, failures: int) -> str:
    """Update the row of a run and return what that changed; empty if there is no row."""
    run = runs.find_run(scope, end.run_id)
    if run is None:
        return ""
    if run.status == end.status:
        return "known"
    at = max(end.at, run.began_at)
    served = run.status == "failed" or not is_infrastructure_error(end.error)
    told = {"output": end.output, "error": _clean_error(end.error), "at": at, "served": served}
    if not end_run(scope, end.run_id, end.status, most=failures, was=run.status, **told):
        return "known"
    _touch_candidate(scope, run.skill_id)
    return "ended" if run.status == "running" else "corrected"


def _record_unseen_end(scope: Scope, end: EndedRun) -> str:
    began = min(queue_time(end.run_id) or end.at, end.at)
    version, function_id = _find_version_at(scope, end.function, began)
    if version is None:
        return "not ours"
    added = runs.record_unseen_run(
        scope,
        run_id=end.run_id,
        skill_id=version.skill_id,
        function_id=function_id,
        version_id=version.id,
        event=end.event if isinstance(end.event, Mapping) else {},
        status=end.status,
        output=end.output,
        error=_clean_error(end.error),
        attempts=version.attempts_of(function_id) if is_infrastructure_error(end.error) else 0,
        began_at=began,
        ended_at=end.at,
        handler=version.is_handler(function_id),
    )
    if not added:
        return "known"
    scope.changed("skill", version.skill_id)
    return "entered"


def _find_version_at(scope: Scope, function: str, at: datetime) -> tuple[CheckedVersion | None, str]:
    """Return the version that served this function at that moment, and the function's id within the file.

    A stem may contain a dash, so the longest stem that fits is tried first.
    """
    fitting = [skill.id for skill in list_skills(scope) if function.startswith(f"{SKILL_APP_PREFIX}{skill.id}-")]
    for stem in sorted(fitting, key=len, reverse=True):
        own = function.removeprefix(f"{SKILL_APP_PREFIX}{stem}-")
        version = versions.find_serving_version(scope, stem, own, at) or versions.find_serving_version(scope, stem, own)
        if version is not None:
            return version, own
    return None, ""


def _touch_candidate(scope: Scope, stem: str) -> None:
    """Touch a skill with a candidate, so that the sidecar looks whether this run moves the candidate on."""
    if (skill := find_skill(scope, stem)) is not None and skill.candidate_id is not None:
        touch_skill(scope, lock_skill(scope, stem))


def _clean_error(error: Any) -> Any:
    """Return the error without the copy of itself that some engines put into its message when they give up."""
    if not isinstance(error, Mapping):
        return error
    told, message = error.get("error"), error.get("message")
    is_repeated = isinstance(told, str) and isinstance(message, str) and message.startswith('{"error":')
    return {**error, "message": told} if is_repeated else error

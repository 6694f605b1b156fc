"""Report a run that failed for good to ops, and decide whether the agent is asked to repair the skill.

Everything the run says is untrusted data.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from core.database import Database, Scope
from core.identity import HOME_WORKSPACE
from runtime import notices
from runtime.limits import credits
from runtime.statuses import OPEN_TASK_STATUSES
from runtime.tables import tasks as task_rows
from skills.book import runs, versions
from skills.book.runs import UNSERVED, SkillRun
from skills.book.skill import Skill, list_skills, lock_skill
from skills.book.versions import CheckedVersion
from skills.lifecycle.infrastructure_errors import is_infrastructure_error
from skills.lifecycle.run_end import SKILL_APP_PREFIX
from skills.review.dependencies import ReviewDependencies
from skills.review.handover import find_author_task, hand_over
from skills.review.text import clean_text, error_text, text_in


@dataclass(frozen=True)
class RepairFacts:
    """Facts that decide on a repair.

    `by_agent`: the agent wrote the version that failed, and no person's file holds it.
    `was_current`: the run used the newest version.
    `newest_is_repair`: a repair task wrote the newest version within a day.
    `today`: repairs of this skill on this local date.
    """

    by_agent: bool
    retired: bool
    was_current: bool
    newest_is_repair: bool
    repair_at_work: bool
    today: int
    per_day: int


def reason_against_repair(facts: RepairFacts) -> str | None:
    """Return why no repair is asked for; None if one may be."""
    if not facts.by_agent:
        return "the agent did not write it, or it is a person's file: a person corrects it"
    if facts.retired:
        return "it is retired"
    if not facts.was_current:
        return "a newer version is there by now"
    if facts.repair_at_work:
        return "a repair is under way"
    if facts.newest_is_repair:
        return "its newest version was itself a repair within a day: a person looks at it now"
    if facts.today >= facts.per_day:
        return f"it was repaired {facts.today} times today, and {facts.per_day} are allowed"
    return None


REPAIR_CAUSE_PREFIX = "repair:"
REPAIR_WINDOW = timedelta(days=1)
_LONGEST_INPUT = 600


@dataclass(frozen=True)
class FailedSkillRun:
    """A failed run as the engine reports it. `function` is the engine-wide id; the rest is untrusted JSON."""

    function: str
    run_id: str
    error: Any
    event: Any


def report_failed_run(dependencies: ReviewDependencies, failed: FailedSkillRun, app_id: str) -> str:
    """Report a failed run, once; return `repair`, or why none is asked for.

    `app_id` is the app of our own functions. A function of neither that app nor a known skill belongs to another user
    of the same engine and is not reported.
    """
    workspace_id = (
        HOME_WORKSPACE if failed.function.startswith(SKILL_APP_PREFIX) else _workspace(dependencies.database, failed)
    )
    with dependencies.database.transaction(workspace_id, "run_failed.told") as scope:
        run = runs.find_run(scope, failed.run_id)
        stem = run.skill_id if run is not None else _stem(scope, failed.function)
        if stem is None and not failed.function.startswith(f"{app_id}-"):
            return "not ours"
        skill = lock_skill(scope, stem) if stem is not None else None
        version = _version(scope, run, skill)
        verdict = (
            None
            if skill is None
            else _unserved_reason(failed, run) or _reason_against(scope, dependencies, skill, version)
        )
        text = _notice(failed, run)
        task_id = None
        if skill is not None and version is not None and verdict is None:
            task_id = _ask_for_repair(scope, failed, skill, version, run)
            text += " The agent is asked to repair it."
        elif verdict is not None:
            text += f" No repair is asked of the agent: {verdict}."
        notices.store_notice(scope, "ops", text, f"run-failed:{failed.run_id}", task_id)
        return "told" if skill is None else verdict or "repair"


def _workspace(database: Database, failed: FailedSkillRun) -> str:
    data = failed.event.get("data") if isinstance(failed.event, Mapping) else None
    named = text_in(data, "workspace_id", 64)
    return named if named in database.workspace_ids() else HOME_WORKSPACE


def _stem(scope: Scope, function: str) -> str | None:
    """Return the skill of a function; a stem may contain a dash, so the longest one that fits."""
    fitting = [skill.id for skill in list_skills(scope) if function.startswith(f"{SKILL_APP_PREFIX}{skill.id}-")]
    return max(fitting, key=len, default=None)


def _version(scope: Scope, run: SkillRun | None, skill: Skill | None) -> CheckedVersion | None:
    """Return the version that failed, or the serving one for an unknown run."""
    version_id = run.version_id if run is not None else skill.version_id if skill is not None else None
    return None if version_id is None else versions.get_version(scope, version_id)


def _unserved_reason(failed: FailedSkillRun, run: SkillRun | None) -> str | None:
    """Return a reason if no process served the run, else None.

    Its row says so, or only the engine reported the failure and its error is one of the infrastructure.
    """
    is_known = run is not None and run.stage == UNSERVED
    failed_itself = run is not None and run.status == "failed"
    unserved = is_known or (not failed_itself and is_infrastructure_error(failed.error))
    return "nobody served it at that moment" if unserved else None


def _reason_against(
    scope: Scope, dependencies: ReviewDependencies, skill: Skill, version: CheckedVersion | None
) -> str | None:
    newest = next(iter(versions.list_versions(scope, skill.id, limit=1)), None)
    if version is None or newest is None:
        return "it has no version that could be repaired"
    asked = _repairs(scope, skill.id)
    behind = find_author_task(scope, newest)
    by_repair = behind is not None and behind.cause.startswith(REPAIR_CAUSE_PREFIX)
    return reason_against_repair(
        RepairFacts(
            by_agent=skill.origin != "person" and version.author == "agent",
            retired=skill.status == "retired",
            was_current=version.id == newest.id,
            newest_is_repair=by_repair and newest.created_at > scope.now - REPAIR_WINDOW,
            repair_at_work=any(status in OPEN_TASK_STATUSES for _, status in asked),
            today=sum(cause.startswith(_today(scope, skill.id)) for cause, _ in asked),
            per_day=dependencies.repairs_per_day,
        )
    )


def _repairs(scope: Scope, stem: str) -> list[tuple[str, str]]:
    """List cause and status of the repair tasks of a skill from the last two days."""
    query = scope.select(task_rows.c.cause, task_rows.c.status).where(
        task_rows.c.cause.startswith(f"{REPAIR_CAUSE_PREFIX}{stem}:", autoescape=True),
        task_rows.c.created_at > scope.now - timedelta(days=2),
    )
    return [(str(row.cause), str(row.status)) for row in scope.rows(query)]


def _today(scope: Scope, stem: str) -> str:
    return f"{REPAIR_CAUSE_PREFIX}{stem}:{credits.read_local_date(scope).isoformat()}:"


def _ask_for_repair(
    scope: Scope, failed: FailedSkillRun, skill: Skill, version: CheckedVersion, run: SkillRun | None
) -> str:
    error = failed.error if isinstance(failed.error, Mapping) else {"message": error_text(failed.error)}
    data = {
        "kind": "skill_repair",
        "skill_id": skill.id,
        "base_version": version.number,
        "base_version_id": version.id,
        "run_id": failed.run_id,
        "function": failed.function,
        "attempts": run.attempts if run is not None else None,
        "error": {name: text_in(error, name, 4000) for name in ("name", "message", "stack")},
        "input": _input(failed, run, 4000),
    }
    order = (
        f"A run of the skill `{skill.id}` failed for good. Find the fault with read_skill and skill_runs, correct the "
        f"skill, ask for no new permission, and save it with write_skill upon version {version.number}, saying what "
        f"was wrong. Where the fault is not the skill's own, change nothing and say so."
    )
    cause = f"{_today(scope, skill.id)}{failed.run_id}"
    goal = f"Repair the skill {skill.id}: its run {failed.run_id} failed"
    return hand_over(scope, goal=goal, order=order, data=data, version=version, cause=cause).id


def _notice(failed: FailedSkillRun, run: SkillRun | None) -> str:
    what = clean_text(failed.function, 160)
    tries = f" after {run.attempts} attempts" if run is not None and run.attempts > 1 else ""
    said = error_text(failed.error) or "it gave no reason"
    given = _input(failed, run, _LONGEST_INPUT)
    return f"{what} failed{tries}: {said} (run {clean_text(failed.run_id, 64)}). Input: {given}"


def _input(failed: FailedSkillRun, run: SkillRun | None, most: int) -> str:
    event = run.event if run is not None else failed.event
    shown = {name: event.get(name) for name in ("name", "data")} if isinstance(event, Mapping) else event
    return clean_text(json.dumps(shown, ensure_ascii=False, default=str), most)

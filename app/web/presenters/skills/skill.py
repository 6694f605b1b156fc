"""The shapes of a skill and its versions: state, candidate, problems, next and last runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from itertools import islice
from typing import Any, cast

from typing_extensions import TypedDict

from app.web.presenters.skills.trial import TrialShape, trial_shapes
from app.web.presenters.values import Moment, moment, without_nulls
from core.database import Scope
from engine.formats.clock import to_datetime, to_ms
from engine.formats.cron import parse_cron
from skills.book import grants, runs, versions
from skills.book.runs import SkillRun
from skills.book.skill import Skill
from skills.book.versions import CheckedVersion

_TIMES_SHOWN = 3


def next_run_times(triggers: Iterable[Mapping[str, Any]], after: datetime, count: int = _TIMES_SHOWN) -> list[datetime]:
    """Return the next times of all schedules among these triggers, soonest first, in UTC.

    A schedule that cannot be read is left out. The times follow the embedded engine's rule, also on nights when clocks
    change. Another server may follow another rule on such a night; the start guard then allows one run a date.
    """
    times = {
        at for trigger in triggers if "cron" in trigger for at in _next_of_cron(str(trigger["cron"]), after, count)
    }
    return sorted(times)[:count]


def _next_of_cron(text: str, after: datetime, count: int) -> list[datetime]:
    try:
        cron = parse_cron(text)
    except ValueError:
        return []
    return [to_datetime(tick) for tick in islice(cron.all_after(to_ms(after)), count)]


RUNS_SHOWN = 5
_ON_ITS_WAY = {"dry_run", "shadow", "canary"}


class ProblemShape(TypedDict):
    """`line` is counted from one; null if the problem has no line."""

    line: int | None
    reason: str
    fix: str


class SkillFunction(TypedDict):
    id: str
    app: str
    name: str | None
    triggers: list[dict[str, Any]]


class SkillRunShape(TypedDict):
    """`version` is the number of the version that the run uses from start to end."""

    id: str
    version: int | None
    function: str
    status: str
    stage: str
    attempts: int
    started_at: Moment
    ended_at: Moment | None


class SkillCandidateShape(TypedDict):
    version: int
    stage: str


class OnItsWay(TypedDict, total=False):
    candidate: SkillCandidateShape | None


class SkillShape(OnItsWay):
    """`version` and `hash` are of the version that serves or served last; `candidate` is set while one is on trial."""

    id: str
    title: str | None
    purpose: str | None
    origin: str
    status: str
    version: int | None
    hash: str | None
    source: str | None
    problems: list[ProblemShape]
    functions: list[SkillFunction]
    triggers: list[dict[str, Any]]
    permissions: dict[str, Any] | None
    granted: list[str]
    next_runs: list[Moment]
    runs: list[SkillRunShape]
    updated_at: Moment


class BroughtBack(TypedDict):
    author: str
    reason: str


class SkillVersion(TypedDict):
    """`brought_back` says who saved the text of this older version again, and why."""

    version: int
    hash: str
    author: str
    author_ref: str | None
    reason: str
    brought_back: BroughtBack | None
    stage: str
    trials: list[TrialShape]
    created_at: Moment
    active_at: Moment | None


def skill_shape(scope: Scope, skill: Skill) -> SkillShape:
    """Return a skill's shape, with the functions and permissions of the version that serves or served last."""
    serving = versions.get_version(scope, skill.version_id) if skill.version_id is not None else None
    candidate = versions.get_version(scope, skill.candidate_id) if skill.candidate_id is not None else None
    described = serving or candidate
    functions = _function_shapes(described) if described is not None else []
    triggers = [trigger for function in functions for trigger in function["triggers"]]
    due = next_run_times(triggers, scope.now) if skill.serves else []
    return {
        "id": skill.id,
        "title": described.manifest.title if described is not None else None,
        "purpose": described.manifest.purpose if described is not None else None,
        "origin": skill.origin,
        "status": skill.status,
        "version": serving.number if serving is not None else None,
        "hash": serving.sha if serving is not None else None,
        "source": skill.path,
        **without_nulls(OnItsWay(candidate=_candidate_shape(candidate))),
        "problems": [cast(ProblemShape, asdict(problem)) for problem in skill.problems],
        "functions": functions,
        "triggers": triggers,
        "permissions": described.manifest.permissions.model_dump(mode="json") if described is not None else None,
        "granted": sorted(grants.granted_permissions(scope, skill.id)),
        "next_runs": [moment(at) for at in due],
        "runs": run_shapes(scope, skill.id, RUNS_SHOWN),
        "updated_at": moment(skill.updated_at),
    }


def skill_version_shape(scope: Scope, version: CheckedVersion) -> SkillVersion:
    """Return a version's shape, without its source."""
    return {
        "version": version.number,
        "hash": version.sha,
        "author": version.author,
        "author_ref": version.author_ref,
        "reason": version.reason,
        "brought_back": _brought_back(version),
        "stage": version.stage,
        "trials": trial_shapes(scope, version),
        "created_at": moment(version.created_at),
        "active_at": moment(version.active_at),
    }


def run_shapes(scope: Scope, stem: str, most: int) -> list[SkillRunShape]:
    """Return a skill's newest runs."""
    numbers = versions.map_version_numbers(scope, stem)
    return [_run_shape(run, numbers.get(run.version_id)) for run in runs.list_skill_runs(scope, stem, most)]


def _run_shape(run: SkillRun, version: int | None) -> SkillRunShape:
    return {
        "id": run.run_id,
        "version": version,
        "function": run.function_id,
        "status": run.status,
        "stage": run.stage,
        "attempts": run.attempts,
        "started_at": moment(run.began_at),
        "ended_at": moment(run.ended_at),
    }


def _brought_back(version: CheckedVersion) -> BroughtBack | None:
    brought = version.stage_facts.get("brought")
    return None if brought is None else {"author": brought["author"], "reason": brought["reason"]}


def _candidate_shape(version: CheckedVersion | None) -> SkillCandidateShape | None:
    """Return the version on trial; None for a first version that waits for a person, which the status shows."""
    if version is None or version.stage not in _ON_ITS_WAY:
        return None
    return {"version": version.number, "stage": version.stage}


def _function_shapes(version: CheckedVersion) -> list[SkillFunction]:
    ids: Sequence[str] = version.function_ids
    return [_function_shape(version, fn_id, function) for fn_id, function in zip(ids, version.functions, strict=True)]


def _function_shape(version: CheckedVersion, fn_id: str, function: Mapping[str, Any]) -> SkillFunction:
    return {
        "id": fn_id,
        "app": f"skill-{version.skill_id}",
        "name": function.get("name"),
        "triggers": list(function.get("triggers", [])),
    }

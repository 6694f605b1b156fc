"""A skill: what serves, what is on its way, what is wrong, when it runs next and how it did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from app.web.presenters.schedule import next_of
from app.web.presenters.values import given, moment
from core.database import Scope
from skills import grants, runs, versions
from skills.book import Skill
from skills.runs import SkillRun
from skills.versions import Version

RUNS_SHOWN = 5
_ON_ITS_WAY = {"dry_run", "shadow", "canary"}


def skill_shape(scope: Scope, skill: Skill) -> dict[str, Any]:
    """`version`, `hash`, functions and permissions are of the version that serves, or served last."""
    serving = versions.get(scope, skill.version_id) if skill.version_id is not None else None
    candidate = versions.get(scope, skill.candidate_id) if skill.candidate_id is not None else None
    shown = serving or candidate
    functions = _functions(shown) if shown is not None else []
    triggers = [trigger for function in functions for trigger in function["triggers"]]
    due = next_of(triggers, scope.now) if skill.serves else []
    return {
        "id": skill.id,
        "title": shown.manifest.title if shown is not None else None,
        "purpose": shown.manifest.purpose if shown is not None else None,
        "origin": skill.origin,
        "status": skill.status,
        "version": serving.number if serving is not None else None,
        "hash": serving.sha if serving is not None else None,
        "source": skill.path,
        **given({"candidate": _candidate(candidate)}),
        "problems": [asdict(problem) for problem in skill.problems],
        "functions": functions,
        "triggers": triggers,
        "permissions": shown.manifest.permissions.model_dump(mode="json") if shown is not None else None,
        "granted": sorted(grants.granted(scope, skill.id)),
        "next_runs": [moment(at) for at in due],
        "runs": [run_shape(run) for run in runs.of_skill(scope, skill.id, RUNS_SHOWN)],
        "updated_at": moment(skill.updated_at),
    }


def version_shape(version: Version) -> dict[str, Any]:
    """One version without its source."""
    return {
        "version": version.number,
        "hash": version.sha,
        "author": version.author,
        "author_ref": version.author_ref,
        "reason": version.reason,
        "stage": version.stage,
        "created_at": moment(version.created_at),
        "active_at": moment(version.active_at),
    }


def run_shape(run: SkillRun) -> dict[str, Any]:
    return {
        "id": run.run_id,
        "function": run.function_id,
        "status": run.status,
        "stage": run.stage,
        "attempts": run.attempts,
        "started_at": moment(run.began_at),
        "ended_at": moment(run.ended_at),
    }


def _candidate(version: Version | None) -> dict[str, Any] | None:
    """Only one that is tried; a first version that waits for a person is told by the status."""
    if version is None or version.stage not in _ON_ITS_WAY:
        return None
    return {"version": version.number, "stage": version.stage}


def _functions(version: Version) -> list[dict[str, Any]]:
    ids: Sequence[str] = version.function_ids
    return [_function(version, fn_id, function) for fn_id, function in zip(ids, version.functions, strict=True)]


def _function(version: Version, fn_id: str, function: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": fn_id,
        "app": f"skill-{version.skill_id}",
        "name": function.get("name"),
        "triggers": list(function.get("triggers", [])),
    }

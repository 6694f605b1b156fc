"""The full shape of a skill: permissions, versions, runs by day, and the repair to request."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import TypedDict

from app.web.presenters.skills.skill import SkillShape, SkillVersion, skill_shape, skill_version_shape
from core.database import Scope
from skills.book import grants, run_days, runs, versions
from skills.book.run_days import RunDay
from skills.book.skill import Skill
from skills.book.versions import CheckedVersion

VERSIONS_SHOWN = 100


class Want(TypedDict):
    """A permission in words, and whether a person granted it."""

    words: str
    granted: bool


class DayShape(TypedDict):
    """How many runs ended on one date, by outcome."""

    date: str
    completed: int
    failed: int
    other: int


class SkillAccount(SkillShape):
    """`timezone` is the workspace's, and `days` are its dates; `wish` is the repair to ask the agent for."""

    wants: list[Want]
    versions: list[SkillVersion]
    timezone: str
    days: list[DayShape]
    success_rate: float | None
    wish: str | None


def skill_account(scope: Scope, skill: Skill) -> SkillAccount:
    """Return the full shape of a skill."""
    version_id = skill.version_id or skill.candidate_id
    counted = run_days.count_runs_by_day(scope, skill.id, scope.read_time_zone())
    return {
        **skill_shape(scope, skill),
        "wants": wanted_permissions(scope, versions.get_version(scope, version_id) if version_id is not None else None),
        "versions": [
            skill_version_shape(scope, one) for one in versions.list_versions(scope, skill.id, VERSIONS_SHOWN)
        ],
        "timezone": scope.read_time_zone().key,
        "days": [
            {"date": day.date.isoformat(), "completed": day.completed, "failed": day.failed, "other": day.other}
            for day in counted
        ],
        "success_rate": rate_of_success(counted),
        "wish": repair_request(scope, skill),
    }


def wanted_permissions(scope: Scope, version: CheckedVersion | None) -> list[Want]:
    """Return the permissions that a version asks for, and whether each was granted."""
    if version is None:
        return []
    wanted = grants.wanted_permissions(version.manifest, version.functions)
    missing = set(grants.missing_permissions(scope, version.skill_id, wanted))
    return [{"words": grants.describe_permission(one), "granted": one not in missing} for one in wanted]


def rate_of_success(days: Sequence[RunDay]) -> float | None:
    """Return the share of completed runs among those that completed or failed; None if there are none."""
    completed, failed = sum(day.completed for day in days), sum(day.failed for day in days)
    return round(completed / (completed + failed), 4) if completed + failed else None


def repair_request(scope: Scope, skill: Skill) -> str | None:
    """Return the request to repair what is wrong with the last save or run; None if nothing is."""
    if skill.problems:
        return f"The skill {skill.id} has a problem: {skill.problems[0].reason}. Please fix it."
    newest = next(iter(runs.list_skill_runs(scope, skill.id, 1)), None)
    if newest is not None and newest.status == "failed":
        return f"The last run of the skill {skill.id} failed ({newest.run_id}). Please find out why and fix it."
    return None


def version_to_compare(scope: Scope, version: CheckedVersion, against: int | None) -> CheckedVersion | None:
    """Return the version to compare with: the one with the number `against`, else the one that it was made from.

    Raises NotFoundError.
    """
    if against is not None:
        return versions.get_version_by_number(scope, version.skill_id, against)
    return versions.get_version(scope, version.parent_id) if version.parent_id is not None else None

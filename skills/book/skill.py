"""Skills: one row each, with the serving version, the candidate, and the problems of the last save."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from core.database import Scope
from core.errors import NotFoundError
from skills.format.problem import SkillProblem
from skills.tables import skills


@dataclass(frozen=True)
class Skill:
    """One skill, identified by the stem of its file.

    `version_id` is the version that serves, or served last when `status` is not `active`. `candidate_id` is a version
    that waits for a person or is being tried. `problems` are those of the last save. `refused_sha` is the hash of file
    content that is not taken again until the file changes. `epoch` grows with every change of the row.
    """

    id: str
    origin: str
    path: str
    status: str
    version_id: str | None
    candidate_id: str | None
    enabled: bool
    problems: tuple[SkillProblem, ...]
    refused_sha: str
    failures: int
    epoch: int
    updated_at: datetime

    @property
    def serves(self) -> bool:
        """Whether events and schedules start runs of this skill."""
        return self.status == "active"


def list_skills(scope: Scope) -> list[Skill]:
    """List every skill, retired ones included, ordered by stem."""
    return [_as_skill(row) for row in scope.rows(scope.select(skills).order_by(skills.c.id))]


def find_skill(scope: Scope, stem: str) -> Skill | None:
    """Return a skill, None if it is unknown."""
    row = scope.first(scope.select(skills).where(skills.c.id == stem))
    return None if row is None else _as_skill(row)


def get_skill(scope: Scope, stem: str) -> Skill:
    """Return a skill; raises NotFoundError."""
    skill = find_skill(scope, stem)
    if skill is None:
        raise NotFoundError(f"there is no skill {stem[:80]} here")
    return skill


def lock_skill(scope: Scope, stem: str) -> Skill:
    """Return a skill and lock it, and the adding of versions, until the transaction ends; raises NotFoundError."""
    row = scope.first(scope.select(skills).where(skills.c.id == stem).with_for_update())
    if row is None:
        raise NotFoundError(f"there is no skill {stem[:80]} here")
    return _as_skill(row)


def enter_skill(scope: Scope, stem: str, *, origin: str, path: str, enabled: bool = True) -> Skill:
    """Return a skill, locked; a new stem is added with status `checking`, or `disabled` if not `enabled`."""
    added = scope.insert_new(
        skills,
        id=stem,
        origin=origin,
        path=path,
        status="checking" if enabled else "disabled",
        enabled=enabled,
        problems=[],
        refused_sha="",
        failures=0,
        epoch=1,
        updated_at=scope.now,
    )
    if added:
        scope.changed("skill", stem)
    return lock_skill(scope, stem)


def save_skill(scope: Scope, skill: Skill) -> Skill:
    """Store a skill that was read under its lock; an equal one changes nothing."""
    before = get_skill(scope, skill.id)
    if replace(skill, epoch=before.epoch, updated_at=before.updated_at) == before:
        return before
    after = replace(skill, epoch=before.epoch + 1, updated_at=scope.now)
    values = {**asdict(after), "problems": [asdict(problem) for problem in after.problems]}
    scope.change(scope.update(skills).where(skills.c.id == skill.id).values(**values))
    scope.changed("skill", skill.id)
    return after


def touch_skill(scope: Scope, skill: Skill) -> Skill:
    """Raise the epoch of a skill after a change outside its row, so that its watchers read it again."""
    values = {"epoch": skill.epoch + 1, "updated_at": scope.now}
    scope.change(scope.update(skills).where(skills.c.id == skill.id).values(**values))
    scope.changed("skill", skill.id)
    return get_skill(scope, skill.id)


def reject_save(scope: Scope, skill: Skill, sha: str, problems: tuple[SkillProblem, ...]) -> Skill:
    """Record that the saved file is refused and why; the version that serves goes on."""
    status = "refused" if skill.status in {"checking", "waiting", "retired"} else skill.status
    return save_skill(
        scope, replace(skill, status=status, candidate_id=None, problems=problems, refused_sha=sha or skill.refused_sha)
    )


def sum_epochs(scope: Scope) -> int:
    """Return a number that grows whenever any skill changes: one cheap read tells whether to look closer."""
    return int(scope.scalar(scope.select(sa.func.coalesce(sa.func.sum(skills.c.epoch), 0).label("mark"))) or 0)


def _as_skill(row: sa.Row[Any]) -> Skill:
    fields = dict(row._mapping)
    fields.pop("workspace_id")
    fields["problems"] = tuple(SkillProblem(**problem) for problem in fields["problems"])
    return Skill(**fields)

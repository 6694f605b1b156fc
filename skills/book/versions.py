"""Versions of a skill: immutable sources, each with its author, reason and parent version."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from core.database import Scope
from core.errors import NotFoundError
from core.events import RunFailed
from skills.format.manifest import SkillManifest
from skills.tables import skill_versions

_RETRIES = 4
"""Retries of a function that sets none."""


@dataclass(frozen=True)
class CheckedVersion:
    """A source that passed the checks.

    `functions` are the registrations of its functions; the address in them is replaced whenever they are registered.
    `stage` is how far the version came; `superseded` means that another serves in its place, `rolled_back` that a
    person went back from it to an earlier one. `stage_facts` holds details: `dry_run`, `shadow` and `canary`, `asked`
    (number of cards), `restored` (it serves again because its successor was quarantined), and `brought` (who saved the
    same text again).
    """

    id: str
    skill_id: str
    number: int
    sha: str
    source: str
    author: str
    author_ref: str | None
    reason: str
    parent_id: str | None
    manifest: SkillManifest
    functions: tuple[Mapping[str, Any], ...]
    stage: str
    stage_facts: Mapping[str, Any]
    created_at: datetime
    active_at: datetime | None

    @property
    def offered_by(self) -> tuple[str, str | None]:
        """Author and reference of the last save of this text: its author, unless it was saved again."""
        brought = self.stage_facts.get("brought")
        return (self.author, self.author_ref) if brought is None else (brought["author"], brought["author_ref"])

    @property
    def function_ids(self) -> tuple[str, ...]:
        """The ids of its functions within the file."""
        return tuple(str(function["id"]).removeprefix(f"skill-{self.skill_id}-") for function in self.functions)

    def is_handler(self, function_id: str) -> bool:
        """Return whether this function handles another function's failures."""
        pairs = zip(self.function_ids, self.functions, strict=True)
        return any(own == function_id and is_failure_handler(function) for own, function in pairs)

    def attempts_of(self, function_id: str) -> int:
        """Return how often an engine calls this function before it gives up."""
        for own, function in zip(self.function_ids, self.functions, strict=True):
            if own == function_id:
                retries = function.get("steps", {}).get("step", {}).get("retries", {})
                return 1 + int(retries.get("attempts", _RETRIES))
        return 1


def dropped_functions(serving: CheckedVersion, candidate: CheckedVersion) -> tuple[str, ...]:
    """Return the functions of the serving version, failure handlers aside, that the candidate no longer has."""
    return tuple(
        own for own in serving.function_ids if not serving.is_handler(own) and own not in candidate.function_ids
    )


def is_failure_handler(function: Mapping[str, Any]) -> bool:
    """Return whether a registered function handles another function's failures."""
    return any(trigger.get("event") == RunFailed.name for trigger in function.get("triggers", []))


def add_version(
    scope: Scope,
    *,
    skill_id: str,
    sha: str,
    source: str,
    author: str,
    author_ref: str | None,
    reason: str,
    parent_id: str | None,
    manifest: SkillManifest,
    functions: Sequence[Mapping[str, Any]],
    version_id: str | None = None,
) -> CheckedVersion:
    """Store a checked source as the next version; a source that is stored already is returned as it is.

    Call it under the skill's lock (`lock_skill`, `enter_skill`). `version_id` presets the id of a new version.
    """
    known = find_version_by_sha(scope, skill_id, sha)
    if known is not None:
        return known
    highest = scope.select(sa.func.max(skill_versions.c.number).label("n")).where(skill_versions.c.skill_id == skill_id)
    version_id = version_id or new_version_id(scope)
    scope.insert(
        skill_versions,
        id=version_id,
        skill_id=skill_id,
        number=int(scope.scalar(highest) or 0) + 1,
        sha=sha,
        source=source,
        author=author,
        author_ref=author_ref,
        reason=reason,
        parent_id=parent_id,
        manifest=manifest.model_dump(mode="json"),
        functions=[dict(function) for function in functions],
        stage="checked",
        stage_facts={},
        created_at=scope.now,
    )
    return get_version(scope, version_id)


def new_version_id(scope: Scope) -> str:
    """Return an id for a version to come."""
    return scope.ids.new("sv")


def get_version(scope: Scope, version_id: str) -> CheckedVersion:
    """Return a version by its id; raises NotFoundError."""
    row = scope.first(scope.select(skill_versions).where(skill_versions.c.id == version_id))
    if row is None:
        raise NotFoundError(f"there is no version {version_id[:80]} of a skill here")
    return _as_version(row)


def find_version_by_sha(scope: Scope, stem: str, sha: str) -> CheckedVersion | None:
    """Return the version with this source, None if there is none."""
    return _find_version(scope, stem, skill_versions.c.sha == sha)


def get_version_by_number(scope: Scope, stem: str, number: int) -> CheckedVersion:
    """Return a version by its number; raises NotFoundError."""
    found = _find_version(scope, stem, skill_versions.c.number == number)
    if found is None:
        raise NotFoundError(f"{stem} has no version {number}")
    return found


def list_versions(scope: Scope, stem: str, limit: int = 100) -> list[CheckedVersion]:
    """List the versions of a skill, newest first."""
    query = scope.select(skill_versions).where(skill_versions.c.skill_id == stem)
    return [_as_version(row) for row in scope.rows(query.order_by(skill_versions.c.number.desc()).limit(limit))]


def map_version_numbers(scope: Scope, stem: str) -> dict[str, int]:
    """Map the id of each version of a skill to its number."""
    query = scope.select(skill_versions.c.id, skill_versions.c.number).where(skill_versions.c.skill_id == stem)
    return {row.id: int(row.number) for row in scope.rows(query)}


def find_newest_shipped(scope: Scope, stem: str) -> CheckedVersion | None:
    """Return the newest version that came with a release."""
    query = scope.select(skill_versions).where(skill_versions.c.skill_id == stem, skill_versions.c.author == "shipped")
    row = scope.first(query.order_by(skill_versions.c.number.desc()).limit(1))
    return None if row is None else _as_version(row)


def find_serving_version(
    scope: Scope, stem: str, function_id: str, by: datetime | None = None
) -> CheckedVersion | None:
    """Return the last version with this function to begin serving, or the last by a moment, whatever its stage now."""
    query = scope.select(skill_versions).where(
        skill_versions.c.skill_id == stem, skill_versions.c.active_at.is_not(None)
    )
    if by is not None:
        query = query.where(skill_versions.c.active_at <= by)
    newest = query.order_by(skill_versions.c.active_at.desc(), skill_versions.c.number.desc()).limit(20)
    found = (_as_version(row) for row in scope.rows(newest))
    return next((version for version in found if function_id in version.function_ids), None)


def find_previous_version(scope: Scope, stem: str, than: CheckedVersion) -> CheckedVersion | None:
    """Return the last version that served before this one, skipping quarantined and rolled-back ones."""
    query = (
        scope.select(skill_versions)
        .where(
            skill_versions.c.skill_id == stem,
            skill_versions.c.id != than.id,
            skill_versions.c.active_at.is_not(None),
            skill_versions.c.stage == "superseded",
        )
        .order_by(skill_versions.c.active_at.desc(), skill_versions.c.number.desc())
    )
    row = scope.first(query.limit(1))
    return None if row is None else _as_version(row)


def set_stage(scope: Scope, version_id: str, to: str, **facts: Any) -> CheckedVersion:
    """Set the stage of a version and merge `facts` into its details; a fact that is None is removed.

    The stage `active` also sets the time at which it began to serve.
    """
    before = get_version(scope, version_id)
    kept = {name: value for name, value in {**before.stage_facts, **facts}.items() if value is not None}
    values: dict[str, Any] = {"stage": to, "stage_facts": kept}
    if to == "active":
        values["active_at"] = scope.now
    scope.change(scope.update(skill_versions).where(skill_versions.c.id == version_id).values(**values))
    return get_version(scope, version_id)


def mark_rolled_back(scope: Scope, current: CheckedVersion, target: CheckedVersion) -> None:
    """Record that a person went back from `current` to `target`.

    Neither `current` nor any version that began to serve after `target` is restored automatically from then on.
    """
    since = (skill_versions.c.id == current.id) | (skill_versions.c.active_at > target.active_at)
    passed = (skill_versions.c.skill_id == current.skill_id) & (skill_versions.c.stage == "superseded") & since
    chosen_over = passed & (skill_versions.c.id != target.id)
    scope.change(scope.update(skill_versions).where(chosen_over).values(stage="rolled_back"))


def diff_versions(before: CheckedVersion | None, after: CheckedVersion) -> str:
    """Return the unified diff between two versions; empty for equal ones."""
    old = before.source.splitlines(keepends=True) if before is not None else []
    new = after.source.splitlines(keepends=True)
    names = (f"version {before.number}" if before is not None else "nothing", f"version {after.number}")
    lines = difflib.unified_diff(old, new, *names)
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)


def _find_version(scope: Scope, stem: str, which: sa.ColumnElement[bool]) -> CheckedVersion | None:
    row = scope.first(scope.select(skill_versions).where(skill_versions.c.skill_id == stem, which))
    return None if row is None else _as_version(row)


def _as_version(row: sa.Row[Any]) -> CheckedVersion:
    fields = dict(row._mapping)
    fields.pop("workspace_id")
    fields["manifest"] = SkillManifest.model_validate(fields["manifest"])
    fields["functions"] = tuple(fields["functions"])
    return CheckedVersion(**fields)


def describe_call_versions(scope: Scope, call_id: str) -> Sequence[Mapping[str, Any]]:
    """Describe the versions that a call wrote, as JSON."""
    mine = scope.select(skill_versions).where(skill_versions.c.author_ref == call_id)
    return [
        {"kind": "skill_version", "id": row.id, "skill_id": row.skill_id, "version": row.number, "stage": row.stage}
        for row in scope.rows(mine.order_by(skill_versions.c.number))
    ]

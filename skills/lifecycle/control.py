"""Control of a skill by a person: enable, disable, roll back, delete."""

from __future__ import annotations

from dataclasses import replace

from core.database import Scope
from core.errors import ConflictError, RefusedError
from skills.book import grants, versions
from skills.book.skill import Skill, get_skill, lock_skill, save_skill
from skills.book.versions import CheckedVersion
from skills.lifecycle import promotion


def enable(scope: Scope, stem: str, by: str) -> Skill:
    """Let a skill serve again, or for the first time.

    A skill that never served begins its rollout, which asks for missing permissions.
    """
    del by
    skill = lock_skill(scope, stem)
    if skill.status == "retired":
        raise ConflictError(f"{stem} is retired: put its file back", state=skill.status)
    if skill.enabled and skill.status != "quarantined":
        return skill
    if skill.version_id is None:
        return save_skill(scope, replace(skill, enabled=True, status=_before_service(scope, skill)))
    versions.set_stage(scope, skill.version_id, "active", restored=None)
    return save_skill(scope, replace(skill, enabled=True, status="active", failures=0, problems=()))


def disable(scope: Scope, stem: str, by: str) -> Skill:
    """Start no new runs until the skill is enabled; running ones go on."""
    del by
    skill = lock_skill(scope, stem)
    if skill.status == "retired":
        raise ConflictError(f"{stem} is retired: nothing of it serves", state=skill.status)
    return save_skill(scope, replace(skill, enabled=False, status="disabled"))


def rollback(scope: Scope, stem: str, by: str, to: int | None = None) -> Skill:
    """Serve the version with the number `to`, by default the one that served before; the file stays as it is.

    The content of the file is not taken again until it changes, and no version that served after the chosen one is
    restored automatically. Raises ConflictError if no version served before or the version needs permissions that are
    no longer granted, RefusedError if it never served.
    """
    del by
    skill = promotion.lock_with_candidate(scope, stem)
    if skill.version_id is None:
        raise ConflictError(f"{stem} never served, so there is nothing to go back to", state=skill.status)
    if skill.status == "retired":
        raise ConflictError(f"{stem} is retired: put its file back", state=skill.status)
    if not skill.enabled:
        raise ConflictError(f"{stem} is disabled: enable it first", state=skill.status)
    current = versions.get_version(scope, skill.version_id)
    target = _target(scope, skill, current, to)
    if missing := grants.missing_permissions(scope, stem, grants.wanted_permissions(target.manifest, target.functions)):
        wants = ", ".join(grants.describe_permission(one) for one in missing)
        raise ConflictError(
            f"nobody grants what version {target.number} asks for ({wants}): save it again, to be asked"
        )
    candidate = versions.get_version(scope, skill.candidate_id) if skill.candidate_id is not None else None
    held = skill.refused_sha or (candidate.sha if candidate is not None else current.sha)
    if candidate is not None:
        promotion.drop_candidate(scope, skill)
    after = promotion.make_current(scope, skill, target)
    versions.mark_rolled_back(scope, current, target)
    return save_skill(scope, replace(after, refused_sha="" if held == target.sha else held))


def delete(scope: Scope, stem: str, by: str) -> Skill:
    """Delete a skill: start no new runs, drop its grants, and have its file removed.

    Raises RefusedError for a shipped skill.
    """
    del by
    skill = get_skill(scope, stem)
    if skill.origin == "shipped":
        raise RefusedError(f"{stem} is shipped with Loopwright: disable it")
    after = retire(scope, stem)
    grants.forget_grants(scope, stem)
    return after


def retire(scope: Scope, stem: str, *, file_gone: bool = False) -> Skill:
    """Stop serving a skill; running runs go on. Unless `file_gone`, the content of its file is not taken again.

    A file that later appears under this name becomes a new version.
    """
    skill = promotion.lock_with_candidate(scope, stem)
    held = ""
    if not file_gone:
        newest = skill.candidate_id or skill.version_id
        held = skill.refused_sha or (versions.get_version(scope, newest).sha if newest is not None else "")
    if skill.candidate_id is not None:
        promotion.drop_candidate(scope, skill)
    if skill.version_id is not None:
        versions.set_stage(scope, skill.version_id, "retired", restored=None)
    return save_skill(
        scope, replace(skill, status="retired", candidate_id=None, problems=(), refused_sha=held, failures=0)
    )


def _before_service(scope: Scope, skill: Skill) -> str:
    """Return the status of an enabled skill that never served."""
    if skill.candidate_id is not None:
        return "waiting" if versions.get_version(scope, skill.candidate_id).stage == "waiting" else "checking"
    return "refused" if skill.problems else "checking"


def _target(scope: Scope, skill: Skill, current: CheckedVersion, to: int | None) -> CheckedVersion:
    if to is None:
        previous = versions.find_previous_version(scope, skill.id, current)
        if previous is None:
            raise ConflictError(f"no version of {skill.id} served before", state=skill.status)
        return previous
    target = versions.get_version_by_number(scope, skill.id, to)
    if target.active_at is None:
        raise RefusedError(f"version {to} of {skill.id} never served: it was not approved")
    return target

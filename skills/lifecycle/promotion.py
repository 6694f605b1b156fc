"""Record the moves of a version, from its offer to service or refusal. Each function locks the skill."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from core.database import Scope
from core.events import Bell, SkillQuarantined
from runtime import notices
from runtime.cards import cards
from runtime.statuses import CardState
from skills.book import grants, runs, versions
from skills.book.skill import Skill, find_skill, get_skill, lock_skill, reject_save, save_skill, touch_skill
from skills.book.versions import CheckedVersion
from skills.format.problem import SkillProblem
from skills.lifecycle import authors, decision
from skills.lifecycle.decision import Trial, VersionFacts
from skills.tables import skill_versions

_SERVED_BEFORE = ("superseded", "rolled_back", "quarantined")


def retire_deleted_skill(scope: Scope, stem: str) -> None:
    """Delete the grants of a deleted skill and retire its versions, so that a new skill of that name inherits nothing.

    A person may still roll back to one of the retired versions.
    """
    grants.forget_grants(scope, stem)
    old = (skill_versions.c.skill_id == stem) & skill_versions.c.stage.in_(_SERVED_BEFORE)
    scope.change(scope.update(skill_versions).where(old).values(stage="retired"))


def collect_facts(
    scope: Scope, skill: Skill, version: CheckedVersion, *, always_ask: bool, canary_runs: int, shadow_runs: int
) -> VersionFacts:
    """Collect the facts on which `decision.next_move` decides."""
    known, (author, _) = version.stage_facts, version.offered_by
    counted = count_first_runs(scope, version)
    asks = always_ask or bool(known.get("rolled_back"))
    serving = versions.get_version(scope, skill.version_id) if skill.serves and skill.version_id is not None else None
    gone = versions.dropped_functions(serving, version) if serving is not None else ()
    return VersionFacts(
        author=author,
        stage=version.stage,
        enabled=skill.enabled,
        missing=grants.missing_permissions(
            scope, skill.id, grants.wanted_permissions(version.manifest, version.functions)
        ),
        must_ask=author == "agent" and (asks or bool(gone)) and not known.get("approved"),
        has_history=runs.has_history(scope, skill.id),
        serves=skill.serves,
        can_be_tried=serving is None or any(own in version.function_ids for own in serving.function_ids),
        dry_run=_as_trial(known.get("dry_run")),
        shadow=_as_trial(known.get("shadow")) or Trial(),
        shadow_runs=shadow_runs,
        completed=counted.get("completed", 0),
        failed=counted.get("failed", 0),
        canary_runs=canary_runs,
        unanswerable=_unanswerable(scope, version),
    )


def count_first_runs(scope: Scope, version: CheckedVersion) -> dict[str, int]:
    """Count the runs of a version since its canary began, by status."""
    canary = version.stage_facts.get("canary")
    if canary is None:
        return {}
    return runs.count_runs_by_status(scope, version.id, "canary", datetime.fromisoformat(canary["since"]))


def lock_with_candidate(scope: Scope, stem: str) -> Skill:
    """Lock and return a skill for a change that may drop its candidate; raises NotFoundError.

    Locks are taken in the order in which an answered card takes them: the task that wrote the candidate, the card that
    asks for it, then the skill.
    """
    skill = get_skill(scope, stem)
    if skill.candidate_id is not None:
        authors.lock_version_card(scope, versions.get_version(scope, skill.candidate_id))
    return lock_skill(scope, stem)


def offer_version(scope: Scope, stem: str, version: CheckedVersion, brought: Mapping[str, Any] | None = None) -> Skill:
    """Make a checked version the skill's candidate, in place of an earlier one.

    `brought` says who saved the text of an older version again: `author`, `author_ref` and `reason`. When the agent
    brings back a version that a person rolled back from, a person must agree.
    """
    skill = lock_with_candidate(scope, stem)
    if skill.candidate_id not in {None, version.id}:
        drop_candidate(scope, skill)
    if skill.status == "retired" and version.id != skill.version_id:
        # A deleted skill; only the name is the same.
        retire_deleted_skill(scope, stem)
    facts = dict.fromkeys(("dry_run", "shadow", "canary", "approved", "card_id"))
    back, now = dict(brought) if brought is not None else None, versions.get_version(scope, version.id)
    left = now.stage == "rolled_back" or now.stage_facts.get("rolled_back")
    against = True if left and back is not None and back["author"] == "agent" else None
    versions.set_stage(scope, version.id, "checked", **facts, brought=back, rolled_back=against)
    status = "checking" if skill.status in {"refused", "waiting", "retired"} else skill.status
    return save_skill(scope, replace(skill, status=status, candidate_id=version.id, problems=(), refused_sha=""))


def wait_for_permission(scope: Scope, stem: str, version: CheckedVersion, missing: tuple[str, ...]) -> Skill:
    """Ask a person on a card for the missing permissions; the task that wrote the version waits for the answer."""
    task_id = authors.lock_author_task(scope, version)
    skill = lock_skill(scope, stem)
    asked = int(version.stage_facts.get("asked", 0)) + 1
    card = grants.open_permission_card(scope, skill, version, missing, f"permission:{version.id}:{asked}", task_id)
    versions.set_stage(scope, version.id, "waiting", asked=asked, card_id=card.id)
    status = "waiting" if skill.status in {"checking", "refused", "retired"} else skill.status
    return touch_skill(scope, save_skill(scope, replace(skill, status=status)))


def set_candidate_stage(scope: Scope, stem: str, version: CheckedVersion, to: str, **facts: Any) -> Skill:
    """Set the stage of a candidate (`dry_run`, `shadow`, `canary`) and its facts, unless a newer one replaced it."""
    skill = lock_skill(scope, stem)
    if skill.candidate_id != version.id:
        return skill
    versions.set_stage(scope, version.id, to, **facts)
    return touch_skill(scope, skill)


def activate_version(scope: Scope, stem: str, version: CheckedVersion) -> Skill:
    """Let the candidate serve, unless it was replaced or the skill was disabled in the meantime."""
    skill = lock_skill(scope, stem)
    if skill.candidate_id != version.id or not skill.enabled:
        return skill
    if skill.version_id not in {None, version.id}:
        _tell_of_change(scope, skill, version, versions.get_version(scope, str(skill.version_id)))
    return make_current(scope, skill, version)


def make_current(scope: Scope, skill: Skill, version: CheckedVersion) -> Skill:
    """Let this version serve, in place of the one that does."""
    if skill.version_id not in {None, version.id}:
        _supersede(scope, str(skill.version_id))
    versions.set_stage(scope, version.id, "active", restored=None, approved=None, rolled_back=None)
    return save_skill(
        scope,
        replace(
            skill, status="active", version_id=version.id, candidate_id=None, problems=(), refused_sha="", failures=0
        ),
    )


def clear_candidate(scope: Scope, stem: str) -> Skill:
    """Drop the candidate and the problems, because the file holds the serving version again."""
    skill = lock_with_candidate(scope, stem)
    if skill.candidate_id is not None:
        drop_candidate(scope, skill)
    return save_skill(scope, replace(skill, candidate_id=None, problems=(), refused_sha=""))


def refuse_version(scope: Scope, stem: str, sha: str, problems: tuple[SkillProblem, ...]) -> Skill:
    """Refuse the file content with this hash, and the candidate that was made from it."""
    skill = lock_with_candidate(scope, stem)
    candidate = versions.get_version(scope, skill.candidate_id) if skill.candidate_id is not None else None
    if candidate is None:
        return reject_save(scope, skill, sha, problems)
    if candidate.sha != sha:
        drop_candidate(scope, skill)
        return reject_save(scope, skill, sha, problems)
    versions.set_stage(scope, candidate.id, "refused")
    after = reject_save(scope, skill, sha, problems)
    authors.tell_author_of_refusal(scope, candidate)
    return after


def apply_failed_run(
    scope: Scope, stem: str, version: CheckedVersion, function_id: str, run_id: str, most: int
) -> Skill:
    """Count a failed run; `most` failures in a row quarantine the version that serves."""
    skill = lock_skill(scope, stem)
    if not skill.serves or skill.version_id != version.id:
        return skill
    in_a_row = runs.count_failures_in_a_row(scope, version.id, function_id, most)
    previous = versions.find_previous_version(scope, stem, version)
    restored = bool(version.stage_facts.get("restored"))
    match decision.after_failure(in_a_row, most, restored=restored, has_previous=previous is not None):
        case "go_on":
            return save_skill(scope, replace(skill, failures=in_a_row))
        case "restore":
            assert previous is not None
            return _quarantine(scope, skill, version, previous, in_a_row, run_id)
        case "quarantine":
            return _quarantine(scope, skill, version, None, in_a_row, run_id)


def apply_completed_run(scope: Scope, stem: str, version: CheckedVersion) -> None:
    """Reset the count of failures after a successful run."""
    skill = find_skill(scope, stem)
    if skill is not None and skill.failures and skill.version_id == version.id:
        save_skill(scope, replace(lock_skill(scope, stem), failures=0))


def _quarantine(
    scope: Scope, skill: Skill, version: CheckedVersion, previous: CheckedVersion | None, in_a_row: int, run_id: str
) -> Skill:
    """Quarantine the version that serves, tell ops, and let `previous` serve in its place if there is one."""
    versions.set_stage(scope, version.id, "quarantined", failed_in_a_row=in_a_row, last_run=run_id)
    told = f"{skill.id}: version {version.number} failed {in_a_row} times in a row and is quarantined; "
    told += f"version {previous.number} serves again" if previous is not None else "nothing serves in its place"
    notices.store_notice(scope, "ops", told, f"skill-quarantined:{version.id}:{run_id}")
    event = SkillQuarantined(workspace_id=scope.workspace_id, skill_id=skill.id, version_id=version.id)
    scope.ring(Bell(event, id=f"skill-quarantined:{version.id}:{run_id}"))
    problem = SkillProblem(None, told.partition(": ")[2], "read its last runs, correct the file and save it")
    held = replace(skill, refused_sha=version.sha, problems=(problem,), failures=0)
    if previous is None:
        return save_skill(scope, replace(held, status="quarantined", failures=in_a_row))
    versions.set_stage(scope, previous.id, "active", restored=True)
    return save_skill(scope, replace(held, version_id=previous.id))


def _tell_of_change(scope: Scope, skill: Skill, version: CheckedVersion, before: CheckedVersion) -> None:
    """Store a notice about a change that no person saved: the agent's, or a release's file that replaces it."""
    match version.offered_by[0], before.author:
        case "agent", _:
            why = f"version {version.number}, which the agent wrote, serves in place of version {before.number}"
        case "shipped", "agent":
            why = (
                f"version {version.number} came with this release and serves in place of version {before.number}, "
                "which the agent had changed"
            )
        case _:
            return
    told = f"{skill.id}: {why}; `loopwright skills rollback {skill.id}` goes back to that"
    since = before.active_at.isoformat() if before.active_at is not None else ""
    notices.store_notice(scope, "ops", told, f"skill-changed:{version.id}:{before.id}:{since}")


def drop_candidate(scope: Scope, skill: Skill) -> None:
    """Supersede the candidate and withdraw the card that asks for it."""
    candidate = versions.get_version(scope, str(skill.candidate_id))
    if candidate.stage_facts.get("card_id"):
        authors.withdraw_version_card(scope, str(candidate.stage_facts["card_id"]))
    if candidate.stage in {"checked", "waiting", "dry_run", "shadow", "canary"}:
        versions.set_stage(scope, candidate.id, "superseded")


def _unanswerable(scope: Scope, version: CheckedVersion) -> bool:
    """Return whether the card that asks for a waiting version is closed, because its task was stopped."""
    card_id = version.stage_facts.get("card_id")
    return (
        version.stage == "waiting"
        and card_id is not None
        and cards.get_card(scope, str(card_id)).state != CardState.OPEN
    )


def _supersede(scope: Scope, version_id: str) -> None:
    if versions.get_version(scope, version_id).stage == "active":
        versions.set_stage(scope, version_id, "superseded")


def _as_trial(known: Any) -> Trial | None:
    return None if known is None else Trial(runs=int(known.get("runs", 0)), failed=str(known.get("failed", "")))

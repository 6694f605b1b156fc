"""What becomes of versions: each function writes one move down, under the skill's lock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from core.database import Scope
from core.events import Bell, SkillQuarantined
from runtime import notices
from runtime.cards import cards
from skills import authors, book, former, grants, lifecycle, runs, versions
from skills.book import Skill
from skills.lifecycle import Facts, Trial
from skills.problem import Problem
from skills.versions import Version


def facts_of(
    scope: Scope, skill: Skill, version: Version, *, always_ask: bool, canary_runs: int, shadow_runs: int
) -> Facts:
    """What `lifecycle.next_move` decides upon."""
    known, (author, _) = version.stage_facts, version.offered_by
    counted = first_runs(scope, version)
    asks = always_ask or bool(known.get("rolled_back"))
    serving = versions.get(scope, skill.version_id) if skill.serves and skill.version_id is not None else None
    gone = versions.dropped(serving, version) if serving is not None else ()
    return Facts(
        author=author,
        stage=version.stage,
        enabled=skill.enabled,
        missing=grants.missing(scope, skill.id, grants.wanted(version.manifest, version.functions)),
        must_ask=author == "agent" and (asks or bool(gone)) and not known.get("approved"),
        has_history=runs.has_ended(scope, skill.id),
        serves=skill.serves,
        can_be_tried=serving is None or any(own in version.function_ids for own in serving.function_ids),
        dry_run=_trial(known.get("dry_run")),
        shadow=_trial(known.get("shadow")) or Trial(),
        shadow_runs=shadow_runs,
        completed=counted.get("completed", 0),
        failed=counted.get("failed", 0),
        canary_runs=canary_runs,
        unanswerable=_unanswerable(scope, version),
    )


def first_runs(scope: Scope, version: Version) -> dict[str, int]:
    """How its first runs do, by status: those of its canary, since that began."""
    canary = version.stage_facts.get("canary")
    if canary is None:
        return {}
    return runs.counted(scope, version.id, "canary", datetime.fromisoformat(canary["since"]))


def locked(scope: Scope, stem: str) -> Skill:
    """The skill under its lock, for a change that may take its candidate away; raises NotFoundError.

    The card that asks for the candidate is locked first, and the task that wrote it before: an answer takes them in
    this order.
    """
    skill = book.get(scope, stem)
    if skill.candidate_id is not None:
        authors.lock(scope, versions.get(scope, skill.candidate_id))
    return book.locked(scope, stem)


def offer(scope: Scope, stem: str, version: Version, brought: Mapping[str, Any] | None = None) -> Skill:
    """A checked version is on its way from now on; another one that was is on its way no longer.

    `brought` tells who saved the text of an older version again: `author`, `author_ref` and `reason`. What a person
    went back from is brought back by the agent with a person's word only.
    """
    skill = locked(scope, stem)
    if skill.candidate_id not in {None, version.id}:
        drop_candidate(scope, skill)
    if skill.status == "retired" and version.id != skill.version_id:
        # Only the name is the same.
        former.leave_behind(scope, stem)
    facts = dict.fromkeys(("dry_run", "shadow", "canary", "approved", "card_id"))
    back, now = dict(brought) if brought is not None else None, versions.get(scope, version.id)
    left = now.stage == "rolled_back" or now.stage_facts.get("rolled_back")
    against = True if left and back is not None and back["author"] == "agent" else None
    versions.stage(scope, version.id, "checked", **facts, brought=back, rolled_back=against)
    status = "checking" if skill.status in {"refused", "waiting", "retired"} else skill.status
    return book.save(scope, replace(skill, status=status, candidate_id=version.id, problems=(), refused_sha=""))


def wait(scope: Scope, stem: str, version: Version, missing: tuple[str, ...]) -> Skill:
    """It asks for what nobody granted: a card asks a person, and the task that wrote it waits for the answer."""
    task_id = authors.lock_task(scope, version)
    skill = book.locked(scope, stem)
    asked = int(version.stage_facts.get("asked", 0)) + 1
    card = grants.ask(scope, skill, version, missing, f"permission:{version.id}:{asked}", task_id)
    versions.stage(scope, version.id, "waiting", asked=asked, card_id=card.id)
    status = "waiting" if skill.status in {"checking", "refused", "retired"} else skill.status
    return book.touch(scope, book.save(scope, replace(skill, status=status)))


def stage(scope: Scope, stem: str, version: Version, to: str, **facts: Any) -> Skill:
    """It is tried: `dry_run`, `shadow` or `canary`, with what is known so far; unless something newer came."""
    skill = book.locked(scope, stem)
    if skill.candidate_id != version.id:
        return skill
    versions.stage(scope, version.id, to, **facts)
    return book.touch(scope, skill)


def activate(scope: Scope, stem: str, version: Version) -> Skill:
    """The candidate serves from now on, unless it is none any longer or the skill was turned off meanwhile."""
    skill = book.locked(scope, stem)
    if skill.candidate_id != version.id or not skill.enabled:
        return skill
    if skill.version_id not in {None, version.id}:
        _tell_of_change(scope, skill, version, versions.get(scope, str(skill.version_id)))
    return point(scope, skill, version)


def point(scope: Scope, skill: Skill, version: Version) -> Skill:
    """This version serves from now on."""
    if skill.version_id not in {None, version.id}:
        _supersede(scope, str(skill.version_id))
    versions.stage(scope, version.id, "active", restored=None, approved=None, rolled_back=None)
    return book.save(
        scope,
        replace(
            skill, status="active", version_id=version.id, candidate_id=None, problems=(), refused_sha="", failures=0
        ),
    )


def as_before(scope: Scope, stem: str) -> Skill:
    """The file holds again what serves: nothing is on its way, and nothing is wrong."""
    skill = locked(scope, stem)
    if skill.candidate_id is not None:
        drop_candidate(scope, skill)
    return book.save(scope, replace(skill, candidate_id=None, problems=(), refused_sha=""))


def refuse(scope: Scope, stem: str, sha: str, problems: tuple[Problem, ...]) -> Skill:
    """The file, as it was saved with this hash, does not serve; so neither does a version that was made of it."""
    skill = locked(scope, stem)
    candidate = versions.get(scope, skill.candidate_id) if skill.candidate_id is not None else None
    if candidate is None:
        return book.turn_down(scope, skill, sha, problems)
    if candidate.sha != sha:
        drop_candidate(scope, skill)
        return book.turn_down(scope, skill, sha, problems)
    versions.stage(scope, candidate.id, "refused")
    after = book.turn_down(scope, skill, sha, problems)
    authors.tell_refused(scope, candidate)
    return after


def run_failed(scope: Scope, stem: str, version: Version, function_id: str, run_id: str, most: int) -> Skill:
    """A run failed for good on a version that serves: too many in a row are the end of that version's service."""
    skill = book.locked(scope, stem)
    if not skill.serves or skill.version_id != version.id:
        return skill
    in_a_row = runs.failed_in_a_row(scope, version.id, function_id, most)
    previous = versions.served_before(scope, stem, version)
    restored = bool(version.stage_facts.get("restored"))
    match lifecycle.after_failure(in_a_row, most, restored=restored, has_previous=previous is not None):
        case "go_on":
            return book.save(scope, replace(skill, failures=in_a_row))
        case "restore":
            assert previous is not None
            return _quarantined(scope, skill, version, previous, in_a_row, run_id)
        case "quarantine":
            return _quarantined(scope, skill, version, None, in_a_row, run_id)


def run_completed(scope: Scope, stem: str, version: Version) -> None:
    """A run went well: the count of failures begins anew."""
    skill = book.find(scope, stem)
    if skill is not None and skill.failures and skill.version_id == version.id:
        book.save(scope, replace(book.locked(scope, stem), failures=0))


def _quarantined(
    scope: Scope, skill: Skill, version: Version, previous: Version | None, in_a_row: int, run_id: str
) -> Skill:
    versions.stage(scope, version.id, "quarantined", failed_in_a_row=in_a_row, last_run=run_id)
    told = f"{skill.id}: version {version.number} failed {in_a_row} times in a row and is quarantined; "
    told += f"version {previous.number} serves again" if previous is not None else "nothing serves in its place"
    notices.store_notice(scope, "ops", told, f"skill-quarantined:{version.id}:{run_id}")
    event = SkillQuarantined(workspace_id=scope.workspace_id, skill_id=skill.id, version_id=version.id)
    scope.ring(Bell(event, id=f"skill-quarantined:{version.id}:{run_id}"))
    problem = Problem(None, told.partition(": ")[2], "read its last runs, correct the file and save it")
    held = replace(skill, refused_sha=version.sha, problems=(problem,), failures=0)
    if previous is None:
        return book.save(scope, replace(held, status="quarantined", failures=in_a_row))
    versions.stage(scope, previous.id, "active", restored=True)
    return book.save(scope, replace(held, version_id=previous.id))


def _tell_of_change(scope: Scope, skill: Skill, version: Version, before: Version) -> None:
    """Tell of what serves now and nobody here saved: a change by the agent, and a release's own file in its place."""
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
    """A newer save takes its place; a card that asked for it asks no more."""
    candidate = versions.get(scope, str(skill.candidate_id))
    if candidate.stage_facts.get("card_id"):
        authors.ask_no_more(scope, str(candidate.stage_facts["card_id"]))
    if candidate.stage in {"checked", "waiting", "dry_run", "shadow", "canary"}:
        versions.stage(scope, candidate.id, "superseded")


def _unanswerable(scope: Scope, version: Version) -> bool:
    """Whether the card that asks for it can be answered no more: its task was stopped."""
    card_id = version.stage_facts.get("card_id")
    return version.stage == "waiting" and card_id is not None and cards.get_card(scope, str(card_id)).state != "open"


def _supersede(scope: Scope, version_id: str) -> None:
    if versions.get(scope, version_id).stage == "active":
        versions.stage(scope, version_id, "superseded")


def _trial(known: Any) -> Trial | None:
    return None if known is None else Trial(runs=int(known.get("runs", 0)), failed=str(known.get("failed", "")))

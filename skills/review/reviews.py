"""Reviews as rows (requested, gathered, judged, done), the choice of reviews for a run, and their watch.

The watch rings again for a review that is not done after a while, and gives it up after a day.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from core.database import Database, Scope
from core.errors import LoopwrightError, NotFoundError
from core.events import Bell, SkillReviewRequested
from runtime import notices
from skills.book import skill
from skills.tables import skill_reviews


@dataclass(frozen=True)
class Review:
    """One review. `version_id` is the reviewed version; `verdict` holds the model's answer and the proposal."""

    id: str
    skill_id: str
    cause: str
    state: str
    version_id: str | None
    facts: Mapping[str, Any]
    verdict: Mapping[str, Any] | None
    prediction: Mapping[str, Any] | None
    comparison: Mapping[str, Any] | None
    task_id: str | None
    at: datetime


def request_review(scope: Scope, skill_id: str, cause: str, *, ring: bool = True) -> Review:
    """Request a review, once per `cause`, and ring for it; return the open review of the skill if there is one.

    Raises NotFoundError for an unknown skill.
    """
    skill.lock_skill(scope, skill_id)
    under_way = find_open_review(scope, skill_id)
    if under_way is not None:
        return under_way
    added = scope.insert_new(
        skill_reviews,
        id=scope.ids.new("review"),
        skill_id=skill_id,
        cause=cause,
        state="requested",
        facts={},
        at=scope.now,
    )
    row = scope.first(scope.select(skill_reviews).where(skill_reviews.c.cause == cause))
    assert row is not None
    review = _as_review(row)
    if added and ring:
        ring_for_review(scope, review, review.id)
    return review


def ring_for_review(scope: Scope, review: Review, bell_id: str) -> None:
    """Ring the bell that starts a run for this review."""
    scope.ring(Bell(SkillReviewRequested(workspace_id=scope.workspace_id, skill_id=review.skill_id), id=bell_id))


def get_review(scope: Scope, review_id: str) -> Review:
    """Return a review; raises NotFoundError."""
    row = scope.first(scope.select(skill_reviews).where(skill_reviews.c.id == review_id))
    if row is None:
        raise NotFoundError(f"there is no review {review_id[:80]} here")
    return _as_review(row)


def find_open_review(scope: Scope, skill_id: str) -> Review | None:
    """Return the oldest review of a skill that is not done."""
    query = scope.select(skill_reviews).where(skill_reviews.c.skill_id == skill_id, skill_reviews.c.state != "done")
    row = scope.first(query.order_by(skill_reviews.c.at, skill_reviews.c.id).limit(1))
    return None if row is None else _as_review(row)


def list_reviews(scope: Scope, skill_id: str, limit: int = 20) -> list[Review]:
    """List the reviews of a skill, newest first."""
    query = scope.select(skill_reviews).where(skill_reviews.c.skill_id == skill_id)
    newest = query.order_by(skill_reviews.c.at.desc(), skill_reviews.c.id.desc()).limit(limit)
    return [_as_review(row) for row in scope.rows(newest)]


def list_undone_reviews(scope: Scope, before: datetime, limit: int = 50) -> list[Review]:
    """List reviews requested before a moment that are not done, oldest first."""
    query = scope.select(skill_reviews).where(skill_reviews.c.state != "done", skill_reviews.c.at < before)
    return [_as_review(row) for row in scope.rows(query.order_by(skill_reviews.c.at).limit(limit))]


def find_newest_done_review(scope: Scope, skill_id: str, within: timedelta) -> Review | None:
    """Return the newest review if it is done and was requested within this time."""
    newest = list_reviews(scope, skill_id, limit=1)
    recent = newest and newest[0].state == "done" and newest[0].at >= scope.now - within
    return newest[0] if recent else None


def map_last_reviews(scope: Scope) -> dict[str, datetime]:
    """Map each skill to the moment when its newest finished review was requested."""
    query = scope.select(skill_reviews.c.skill_id, sa.func.max(skill_reviews.c.at).label("at")).where(
        skill_reviews.c.state == "done"
    )
    return {row.skill_id: row.at for row in scope.rows(query.group_by(skill_reviews.c.skill_id))}


def find_unproven_review(scope: Scope, skill_id: str) -> Review | None:
    """Return the newest review with a proposal whose prediction no later review has compared yet."""
    told: set[str] = set()
    for review in list_reviews(scope, skill_id):
        if review.state == "done" and review.task_id is not None and review.prediction is not None:
            return None if review.id in told else review
        if review.comparison is not None and review.comparison.get("outcome") != "too_few":
            told.add(str(review.comparison.get("review_id")))
    return None


def move_review(scope: Scope, review_id: str, state: str, *, was: str, **values: Any) -> bool:
    """Move a review from state `was` to `state`; return False if it was moved before."""
    here = (skill_reviews.c.id == review_id) & (skill_reviews.c.state == was)
    moved = scope.change(scope.update(skill_reviews).where(here).values(state=state, **values)) == 1
    if moved:
        scope.changed("skill", get_review(scope, review_id).skill_id)
    return moved


def _as_review(row: sa.Row[Any]) -> Review:
    fields = dict(row._mapping)
    fields.pop("workspace_id")
    return Review(**fields)


MOST_IN_A_RUN = 40
"""Reviews per run, each of which takes four steps. The rest are rung for and get a run each."""
RECENT_REVIEW = timedelta(seconds=10)
"""A bell within this time after a review was requested belongs to that review."""


def begin_reviews(database: Database, workspace_id: str, run_id: str, skill_id: str = "") -> list[str]:
    """Return the ids of the reviews that this run does: of the named skill, or of every skill that serves.

    Skills whose last review is longest ago come first; beyond `MOST_IN_A_RUN` a review is only requested. An unknown
    skill, and one that was reviewed a moment ago, gets none.
    """
    with database.reading(workspace_id) as scope:
        stems = [skill_id] if skill_id else _stems_in_turn(scope)
    found: list[str] = []
    for n, stem in enumerate(stems):
        with database.transaction(workspace_id, "review.requested") as scope:
            review_id = _take_up_review(scope, stem, run_id, ring=n >= MOST_IN_A_RUN)
        if review_id is not None and n < MOST_IN_A_RUN:
            found.append(review_id)
    return found


def _stems_in_turn(scope: Scope) -> list[str]:
    """List the skills that serve, the one whose last review is longest ago first."""
    last = map_last_reviews(scope)
    stems = [skill.id for skill in skill.list_skills(scope) if skill.serves]
    return sorted(stems, key=lambda stem: (stem in last, last.get(stem, scope.now), stem))


def _take_up_review(scope: Scope, stem: str, run_id: str, *, ring: bool) -> str | None:
    waiting = find_open_review(scope, stem)
    if waiting is not None:
        return waiting.id
    if find_newest_done_review(scope, stem, RECENT_REVIEW) is not None:
        return None
    try:
        return request_review(scope, stem, f"run:{run_id}:{stem}", ring=ring).id
    except NotFoundError:
        return None


_log = logging.getLogger(__name__)
GIVEN_UP_AFTER = timedelta(days=1)


def watch_reviews(database: Database, workspace_id: str, patience: timedelta) -> int:
    """Ring for unfinished reviews of a workspace, or give them up; return how many. One failure stops no other."""
    with database.reading(workspace_id) as scope:
        waiting = list_undone_reviews(scope, scope.now - patience)
    return sum(_repair_review(database, workspace_id, review, patience) for review in waiting)


def _repair_review(database: Database, workspace_id: str, review: Review, patience: timedelta) -> int:
    try:
        with database.transaction(workspace_id, "watch.repaired") as scope:
            if review.at < scope.now - GIVEN_UP_AFTER:
                _give_up(scope, review)
            else:
                ring_for_review(scope, review, f"{review.id}:ring-{_bell_bucket(scope.now, review.at, patience)}")
    except (LoopwrightError, sa.exc.SQLAlchemyError) as error:
        # The next pass retries it.
        _log.warning("watch: %s at a review in workspace %s: %s", type(error).__name__, workspace_id, error)
        return 0
    return 1


def _give_up(scope: Scope, review: Review) -> None:
    reason = "the review was taken up for a day and did not come to an end"
    if move_review(scope, review.id, "done", was=review.state, verdict={**(review.verdict or {}), "reason": reason}):
        notices.store_notice(scope, "ops", f"Review of {review.skill_id}: {reason}.", f"review:{review.id}")


def _bell_bucket(now: datetime, since: datetime, patience: timedelta) -> int:
    """Return a number for the bell's id that changes at doubling ages, because the engine drops an id it knows."""
    return int((now - since) / patience).bit_length()

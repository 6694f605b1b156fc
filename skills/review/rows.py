"""Reviews as rows: asked for, gathered, judged, done. Each move is made once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from core.database import Scope
from core.errors import NotFoundError
from core.events import Bell, SkillReviewRequested
from skills import book
from skills.tables import skill_reviews


@dataclass(frozen=True)
class Review:
    """`version_id` is the version that was looked at; `verdict` holds what the model said and what came of it."""

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


def request(scope: Scope, skill_id: str, cause: str, *, ring: bool = True) -> Review:
    """Ask for a review, once per `cause`, and ring for it; one that is under way for the skill is answered instead.

    Raises NotFoundError for a skill that is not there.
    """
    book.locked(scope, skill_id)
    under_way = open_of(scope, skill_id)
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
    review = _review(row)
    if added and ring:
        ring_for(scope, review, review.id)
    return review


def ring_for(scope: Scope, review: Review, bell_id: str) -> None:
    scope.ring(Bell(SkillReviewRequested(workspace_id=scope.workspace_id, skill_id=review.skill_id), id=bell_id))


def get(scope: Scope, review_id: str) -> Review:
    """Raises NotFoundError."""
    row = scope.first(scope.select(skill_reviews).where(skill_reviews.c.id == review_id))
    if row is None:
        raise NotFoundError(f"there is no review {review_id[:80]} here")
    return _review(row)


def open_of(scope: Scope, skill_id: str) -> Review | None:
    """The oldest review of the skill that is not done."""
    query = scope.select(skill_reviews).where(skill_reviews.c.skill_id == skill_id, skill_reviews.c.state != "done")
    row = scope.first(query.order_by(skill_reviews.c.at, skill_reviews.c.id).limit(1))
    return None if row is None else _review(row)


def of_skill(scope: Scope, skill_id: str, limit: int = 20) -> list[Review]:
    """The newest first."""
    query = scope.select(skill_reviews).where(skill_reviews.c.skill_id == skill_id)
    newest = query.order_by(skill_reviews.c.at.desc(), skill_reviews.c.id.desc()).limit(limit)
    return [_review(row) for row in scope.rows(newest)]


def undone_since(scope: Scope, before: datetime, limit: int = 50) -> list[Review]:
    """Reviews asked for before then that are not done, the oldest first."""
    query = scope.select(skill_reviews).where(skill_reviews.c.state != "done", skill_reviews.c.at < before)
    return [_review(row) for row in scope.rows(query.order_by(skill_reviews.c.at).limit(limit))]


def newest_done(scope: Scope, skill_id: str, within: timedelta) -> Review | None:
    """The review that was asked for last, when that is no longer ago and it is done."""
    newest = of_skill(scope, skill_id, limit=1)
    recent = newest and newest[0].state == "done" and newest[0].at >= scope.now - within
    return newest[0] if recent else None


def last_done(scope: Scope) -> dict[str, datetime]:
    """When each skill's newest review that is done was asked for; none for a skill without one."""
    query = scope.select(skill_reviews.c.skill_id, sa.func.max(skill_reviews.c.at).label("at")).where(
        skill_reviews.c.state == "done"
    )
    return {row.skill_id: row.at for row in scope.rows(query.group_by(skill_reviews.c.skill_id))}


def unproven(scope: Scope, skill_id: str) -> Review | None:
    """The newest review that proposed something and whose prediction no later review could judge yet."""
    told: set[str] = set()
    for review in of_skill(scope, skill_id):
        if review.state == "done" and review.task_id is not None and review.prediction is not None:
            return None if review.id in told else review
        if review.comparison is not None and review.comparison.get("outcome") != "too_few":
            told.add(str(review.comparison.get("review_id")))
    return None


def move(scope: Scope, review_id: str, state: str, *, was: str, **values: Any) -> bool:
    """Take the review one state on; False when somebody has done so before."""
    here = (skill_reviews.c.id == review_id) & (skill_reviews.c.state == was)
    moved = scope.change(scope.update(skill_reviews).where(here).values(state=state, **values)) == 1
    if moved:
        scope.changed("skill", get(scope, review_id).skill_id)
    return moved


def _review(row: sa.Row[Any]) -> Review:
    fields = dict(row._mapping)
    fields.pop("workspace_id")
    return Review(**fields)

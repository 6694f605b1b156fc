"""The shape of a skill's review: its findings, its proposal, and the outcome of the last change."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict

from app.web.presenters.values import Moment, moment, without_nulls
from skills.review.comparison import Comparison, read_prediction
from skills.review.reviews import Review

_NUMBERS = (
    "version",
    "runs",
    "success_rate",
    "median_seconds",
    "slowest_tenth_seconds",
    "retries",
    "alarms",
    "false_alarm_rate",
    "late_rate",
    "acted_on_rate",
)


class ReviewEnd(TypedDict, total=False):
    """`reason` is why nothing was proposed; `expects` says in words what the proposed change should do, and `before`
    what came of the last one.
    """

    reason: str | None
    expects: str | None
    before: dict[str, Any] | None
    task_id: str | None


class ReviewShape(ReviewEnd):
    """`proposal` is null if nothing was proposed."""

    id: str
    state: str
    at: Moment
    facts: dict[str, Any] | None
    proposal: dict[str, Any] | None


def review_shape(review: Review) -> ReviewShape:
    """Return a review's shape."""
    verdict, facts = review.verdict or {}, review.facts.get("facts") or {}
    proposal = verdict.get("proposal") if "reason" not in verdict else None
    expects = read_prediction(review.prediction).in_words() if proposal and review.prediction else None
    end = ReviewEnd(reason=verdict.get("reason"), expects=expects, before=_last_change(review), task_id=review.task_id)
    return {
        "id": review.id,
        "state": review.state,
        "at": moment(review.at),
        "facts": {name: facts.get(name) for name in _NUMBERS} if facts else None,
        "proposal": proposal,
        **without_nulls(end),
    }


def _last_change(review: Review) -> dict[str, Any] | None:
    comparison = review.comparison
    if comparison is None:
        return None
    held = Comparison(
        str(comparison["review_id"]),
        read_prediction(comparison),
        str(comparison["outcome"]),
        comparison.get("happened"),
    )
    return {**comparison, "words": held.in_words()}

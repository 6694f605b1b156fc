"""A review of a skill: what it found, what it proposed, and what came of the change before."""

from __future__ import annotations

from typing import Any

from app.web.presenters.values import given, moment
from skills.review.comparison import Comparison, prediction_of
from skills.review.rows import Review

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


def review_shape(review: Review) -> dict[str, Any]:
    """`proposal` is None where nothing was proposed, and `reason` then says why; `before` tells of the last change."""
    verdict, facts = review.verdict or {}, review.facts.get("facts") or {}
    return {
        "id": review.id,
        "state": review.state,
        "at": moment(review.at),
        "facts": {name: facts.get(name) for name in _NUMBERS} if facts else None,
        "proposal": verdict.get("proposal") if "reason" not in verdict else None,
        **given({"reason": verdict.get("reason"), "before": _before(review), "task_id": review.task_id}),
    }


def _before(review: Review) -> dict[str, Any] | None:
    told = review.comparison
    if told is None:
        return None
    held = Comparison(str(told["review_id"]), prediction_of(told), str(told["outcome"]), told.get("happened"))
    return {**told, "words": held.in_words()}

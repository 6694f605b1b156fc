"""The model's verdicts `route` and `duplicate_check`, and the check that they name only what was offered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from router.decision import RouteCandidate, RouteDecision, RouteOutcome
from router.facts import RoutingFacts, likely_tasks
from router.words import find_keywords, word_overlap
from runtime.tasks.tasks import Task

MOST_CANDIDATES = 5
_MOST_REASONS = 5
_LONGEST_REASON = 300


class CandidateVerdict(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    task_id: str
    score: float = Field(allow_inf_nan=False)


class RouteVerdict(BaseModel):
    """`goal` restates what is wanted; tasks keep the person's own words."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    outcome: RouteOutcome
    task_id: str | None = None
    goal: str = ""
    object_ids: list[str] = Field(default_factory=list)
    reasons: list[str] = Field(default_factory=list)
    candidates: list[CandidateVerdict] = Field(default_factory=list)


def check_verdict(verdict: RouteVerdict, index: RoutingFacts) -> RouteDecision:
    """The verdict as far as it can be trusted; one that names what was not offered becomes a question."""
    decided = RouteDecision(
        level="semantic",
        outcome=verdict.outcome,
        task_id=verdict.task_id if verdict.outcome == "existing" else None,
        reasons=shorten_reasons(verdict.reasons),
        candidates=_known(verdict.candidates, index),
        object_ids=tuple(dict.fromkeys(verdict.object_ids)),
    )
    strange = [one for one in decided.object_ids if one not in index.works]
    if decided.outcome == "existing" and decided.task_id not in index.offered:
        return ask_instead(decided, index, f"the verdict named the task {decided.task_id}, which was not offered")
    if strange and decided.outcome != "main":
        return ask_instead(decided, index, f"the verdict named the object {strange[0]}, which was not offered")
    if decided.outcome == "ask":
        return ask_instead(decided, index)
    return replace(decided, object_ids=()) if decided.outcome == "main" else decided


def ask_instead(decided: RouteDecision, index: RoutingFacts, reason: str = "") -> RouteDecision:
    """The question to the person that takes the place of an uncertain verdict."""
    candidates = decided.candidates or tuple(
        RouteCandidate(task_id, 0.0) for task_id in likely_tasks(index, MOST_CANDIDATES)
    )
    reasons = (*decided.reasons, reason[:_LONGEST_REASON]) if reason else decided.reasons
    return RouteDecision("semantic", "ask", None, reasons, candidates)


def ask_for_lack_of_verdict(index: RoutingFacts, reason: str) -> RouteDecision:
    """What happens when the model has no usable verdict: the person is asked."""
    return ask_instead(RouteDecision("semantic", "ask"), index, reason)


def shorten_reasons(reasons: Sequence[str]) -> tuple[str, ...]:
    return tuple(reason[:_LONGEST_REASON] for reason in reasons[:_MOST_REASONS])


def _known(candidates: Sequence[CandidateVerdict], index: RoutingFacts) -> tuple[RouteCandidate, ...]:
    known: dict[str, RouteCandidate] = {}
    for one in candidates:
        if one.task_id in index.offered and one.task_id not in known:
            known[one.task_id] = RouteCandidate(one.task_id, round(min(1.0, max(0.0, one.score)), 3))
    return tuple(known.values())[:MOST_CANDIDATES]


MOST_TASKS_COMPARED = 50
MOST_DUPLICATES = 3
LEAST_LIKENESS = 0.5
_COMPARED = 60


class DuplicateVerdict(BaseModel):
    """`existing` names one of the candidates, `ask` leaves it to the person."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    outcome: Literal["existing", "new", "ask"]
    task_id: str | None = None
    reasons: list[str] = Field(default_factory=list)


def find_likely_duplicates(goal: str, active: Sequence[Task]) -> list[RouteCandidate]:
    """The active tasks whose goals are like this one, the nearest first."""
    scored = [RouteCandidate(task.id, round(goal_likeness(goal, task.goal), 3)) for task in active]
    return sorted((one for one in scored if one.score >= LEAST_LIKENESS), key=lambda one: -one.score)[:MOST_DUPLICATES]


def goal_likeness(one: str, other: str) -> float:
    """Between 0 and 1: the same telling words, or nearly the same words in the same order."""
    mine, theirs = find_keywords(one, _COMPARED), find_keywords(other, _COMPARED)
    in_order = SequenceMatcher(None, mine, theirs, autojunk=False).ratio() if mine and theirs else 0.0
    return max(word_overlap(one, other), in_order)


def duplicate_facts_json(goal: str, candidates: Sequence[RouteCandidate], active: Sequence[Task]) -> dict[str, Any]:
    """The question as the model reads it."""
    by_id = {task.id: task for task in active}
    return {
        "goal": goal[:4000],
        "candidates": [
            {
                "id": one.task_id,
                "goal": by_id[one.task_id].goal[:400],
                "brief": by_id[one.task_id].brief[:400],
                "status": by_id[one.task_id].status,
                "likeness": one.score,
            }
            for one in candidates
        ],
    }


def settle_duplicate(
    decided: RouteDecision, verdict: DuplicateVerdict, candidates: Sequence[RouteCandidate]
) -> RouteDecision:
    """The decision after the check. The candidates are kept in every case, so that the person can see them."""
    seen = replace(
        decided, candidates=tuple(candidates), reasons=(*decided.reasons, *shorten_reasons(verdict.reasons))[:6]
    )
    if verdict.outcome == "new":
        return seen
    if verdict.outcome == "existing" and verdict.task_id in {one.task_id for one in candidates}:
        return replace(seen, outcome="existing", task_id=verdict.task_id)
    return replace(seen, outcome="ask", object_ids=())

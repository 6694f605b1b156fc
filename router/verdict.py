"""Verdicts `route` and `duplicate_check` of the model, and the check that they name only what was offered."""

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
MOST_TASKS_COMPARED = 50
MOST_DUPLICATES = 3
LEAST_LIKENESS = 0.5
_MOST_REASONS = 5
_LONGEST_REASON = 300
_MOST_KEYWORDS = 60


# The docstrings of verdicts are part of the schema that the model is shown.
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


def check_verdict(verdict: RouteVerdict, facts: RoutingFacts) -> RouteDecision:
    """Turn the verdict into a decision; one that names something that was not offered becomes a question."""
    decision = RouteDecision(
        level="semantic",
        outcome=verdict.outcome,
        task_id=verdict.task_id if verdict.outcome == "existing" else None,
        reasons=shorten_reasons(verdict.reasons),
        candidates=_offered_candidates(verdict.candidates, facts),
        object_ids=tuple(dict.fromkeys(verdict.object_ids)),
    )
    unknown = [one for one in decision.object_ids if one not in facts.works]
    if decision.outcome == "existing" and decision.task_id not in facts.offered:
        return ask_instead(decision, facts, f"the verdict named the task {decision.task_id}, which was not offered")
    if unknown and decision.outcome != "main":
        return ask_instead(decision, facts, f"the verdict named the object {unknown[0]}, which was not offered")
    if decision.outcome == "ask":
        return ask_instead(decision, facts)
    return replace(decision, object_ids=()) if decision.outcome == "main" else decision


def ask_instead(decision: RouteDecision, facts: RoutingFacts, reason: str = "") -> RouteDecision:
    """Decide to ask the person instead of following an uncertain verdict."""
    candidates = decision.candidates or tuple(
        RouteCandidate(task_id, 0.0) for task_id in likely_tasks(facts, MOST_CANDIDATES)
    )
    reasons = (*decision.reasons, reason[:_LONGEST_REASON]) if reason else decision.reasons
    return RouteDecision("semantic", "ask", None, reasons, candidates)


def ask_for_lack_of_verdict(facts: RoutingFacts, reason: str) -> RouteDecision:
    """Decide to ask the person when the model gives no usable verdict."""
    return ask_instead(RouteDecision("semantic", "ask"), facts, reason)


def shorten_reasons(reasons: Sequence[str]) -> tuple[str, ...]:
    """Limit the number of reasons and the length of each."""
    return tuple(reason[:_LONGEST_REASON] for reason in reasons[:_MOST_REASONS])


def _offered_candidates(candidates: Sequence[CandidateVerdict], facts: RoutingFacts) -> tuple[RouteCandidate, ...]:
    known: dict[str, RouteCandidate] = {}
    for one in candidates:
        if one.task_id in facts.offered and one.task_id not in known:
            known[one.task_id] = RouteCandidate(one.task_id, round(min(1.0, max(0.0, one.score)), 3))
    return tuple(known.values())[:MOST_CANDIDATES]


class DuplicateVerdict(BaseModel):
    """`existing` names one of the candidates, `ask` leaves it to the person."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    outcome: Literal["existing", "new", "ask"]
    task_id: str | None = None
    reasons: list[str] = Field(default_factory=list)


def find_likely_duplicates(goal: str, active: Sequence[Task]) -> list[RouteCandidate]:
    """Return the active tasks whose goals are like this one, the most similar first."""
    scored = [RouteCandidate(task.id, round(goal_likeness(goal, task.goal), 3)) for task in active]
    return sorted((one for one in scored if one.score >= LEAST_LIKENESS), key=lambda one: -one.score)[:MOST_DUPLICATES]


def goal_likeness(one: str, other: str) -> float:
    """Return how alike two goals are, between 0 and 1: by shared keywords, or by keywords in the same order."""
    first, second = find_keywords(one, _MOST_KEYWORDS), find_keywords(other, _MOST_KEYWORDS)
    in_order = SequenceMatcher(None, first, second, autojunk=False).ratio() if first and second else 0.0
    return max(word_overlap(one, other), in_order)


def duplicate_facts_json(goal: str, candidates: Sequence[RouteCandidate], active: Sequence[Task]) -> dict[str, Any]:
    """Return the facts of a duplicate check as JSON for the model."""
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
    decision: RouteDecision, verdict: DuplicateVerdict, candidates: Sequence[RouteCandidate]
) -> RouteDecision:
    """Apply the verdict to the decision. The candidates are always kept, so that the person can see them."""
    checked = replace(
        decision, candidates=tuple(candidates), reasons=(*decision.reasons, *shorten_reasons(verdict.reasons))[:6]
    )
    if verdict.outcome == "new":
        return checked
    if verdict.outcome == "existing" and verdict.task_id in {one.task_id for one in candidates}:
        return replace(checked, outcome="existing", task_id=verdict.task_id)
    return replace(checked, outcome="ask", object_ids=())

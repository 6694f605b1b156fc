"""The model's verdict `route`: its shape, and the check that it names only what was offered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic import BaseModel, ConfigDict, Field

from router.decided import Candidate, Decided, Outcome
from router.index import Index, likely

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

    outcome: Outcome
    task_id: str | None = None
    goal: str = ""
    object_ids: list[str] = Field(default_factory=list)
    reasons: list[str] = Field(default_factory=list)
    candidates: list[CandidateVerdict] = Field(default_factory=list)


def checked(verdict: RouteVerdict, index: Index) -> Decided:
    """The verdict as far as it can be trusted; one that names what was not offered becomes a question."""
    decided = Decided(
        level="semantic",
        outcome=verdict.outcome,
        task_id=verdict.task_id if verdict.outcome == "existing" else None,
        reasons=shortened(verdict.reasons),
        candidates=_known(verdict.candidates, index),
        object_ids=tuple(dict.fromkeys(verdict.object_ids)),
    )
    strange = [one for one in decided.object_ids if one not in index.works]
    if decided.outcome == "existing" and decided.task_id not in index.offered:
        return asking(decided, index, f"the verdict named the task {decided.task_id}, which was not offered")
    if strange and decided.outcome != "main":
        return asking(decided, index, f"the verdict named the object {strange[0]}, which was not offered")
    if decided.outcome == "ask":
        return asking(decided, index)
    return replace(decided, object_ids=()) if decided.outcome == "main" else decided


def asking(decided: Decided, index: Index, reason: str = "") -> Decided:
    """The question to the person that takes the place of an uncertain verdict."""
    candidates = decided.candidates or tuple(Candidate(task_id, 0.0) for task_id in likely(index, MOST_CANDIDATES))
    reasons = (*decided.reasons, reason[:_LONGEST_REASON]) if reason else decided.reasons
    return Decided("semantic", "ask", None, reasons, candidates)


def unusable(index: Index, reason: str) -> Decided:
    """What happens when the model has no usable verdict: the person is asked."""
    return asking(Decided("semantic", "ask"), index, reason)


def shortened(reasons: Sequence[str]) -> tuple[str, ...]:
    return tuple(reason[:_LONGEST_REASON] for reason in reasons[:_MOST_REASONS])


def _known(candidates: Sequence[CandidateVerdict], index: Index) -> tuple[Candidate, ...]:
    known: dict[str, Candidate] = {}
    for one in candidates:
        if one.task_id in index.offered and one.task_id not in known:
            known[one.task_id] = Candidate(one.task_id, round(min(1.0, max(0.0, one.score)), 3))
    return tuple(known.values())[:MOST_CANDIDATES]

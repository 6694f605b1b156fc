"""Before a new task: is this goal being worked on already?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from router.decided import Candidate, Decided
from router.verdict import shortened
from router.words import keywords, overlap
from runtime.tasks import Task

LOOKED_AT = 50
MOST = 3
NEAR = 0.5
_COMPARED = 60


class DuplicateVerdict(BaseModel):
    """`existing` names one of the candidates, `ask` leaves it to the person."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    outcome: Literal["existing", "new", "ask"]
    task_id: str | None = None
    reasons: list[str] = Field(default_factory=list)


def near(goal: str, active: Sequence[Task]) -> list[Candidate]:
    """The active tasks whose goals are like this one, the nearest first."""
    scored = [Candidate(task.id, round(likeness(goal, task.goal), 3)) for task in active]
    return sorted((one for one in scored if one.score >= NEAR), key=lambda one: -one.score)[:MOST]


def likeness(one: str, other: str) -> float:
    """Between 0 and 1: the same telling words, or nearly the same words in the same order."""
    mine, theirs = keywords(one, _COMPARED), keywords(other, _COMPARED)
    in_order = SequenceMatcher(None, mine, theirs, autojunk=False).ratio() if mine and theirs else 0.0
    return max(overlap(one, other), in_order)


def as_facts(goal: str, candidates: Sequence[Candidate], active: Sequence[Task]) -> dict[str, Any]:
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


def settled(decided: Decided, verdict: DuplicateVerdict, candidates: Sequence[Candidate]) -> Decided:
    """The decision after the check. The candidates are kept in every case, so that the person can see them."""
    seen = replace(decided, candidates=tuple(candidates), reasons=(*decided.reasons, *shortened(verdict.reasons))[:6])
    if verdict.outcome == "new":
        return seen
    if verdict.outcome == "existing" and verdict.task_id in {one.task_id for one in candidates}:
        return replace(seen, outcome="existing", task_id=verdict.task_id)
    return replace(seen, outcome="ask", object_ids=())

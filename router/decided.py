"""Where a message goes, and why: the result of every level of routing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["explicit", "object", "semantic"]
Outcome = Literal["main", "light", "existing", "new", "ask"]


@dataclass(frozen=True)
class Candidate:
    """A task that came into question; `score` is between 0 and 1."""

    task_id: str
    score: float


@dataclass(frozen=True)
class Decided:
    """`task_id` is set for `existing` alone; it may name a task that is gone, which delivery finds out and says.

    `object_ids` are the works that the new or found task is handed.
    """

    level: Level
    outcome: Outcome
    task_id: str | None = None
    reasons: tuple[str, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    object_ids: tuple[str, ...] = ()

"""What a review needs from outside, passed in by the composition root."""

from __future__ import annotations

from dataclasses import dataclass

from core.database import Database
from core.llm.port import Model
from skills.review.history import EngineRunHistory


@dataclass(frozen=True)
class ReviewDependencies:
    """Dependencies of reviews and repairs.

    `runs` reads the engine's run history. `repairs_per_day` limits the repairs of one skill per day.
    """

    database: Database
    model: Model
    runs: EngineRunHistory
    repairs_per_day: int = 3

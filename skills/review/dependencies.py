"""Dependencies of a review; the composition root hands them in."""

from __future__ import annotations

from dataclasses import dataclass

from core.database import Database
from core.llm.port import Model
from skills.review.history import EngineRunHistory


@dataclass(frozen=True)
class ReviewDependencies:
    """`runs` reads the attached engine's history. `repairs_per_day` is the most that one skill is repaired a day."""

    database: Database
    model: Model
    runs: EngineRunHistory
    repairs_per_day: int = 3

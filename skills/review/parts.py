"""What a review is made with; the composition root hands it in."""

from __future__ import annotations

from dataclasses import dataclass

from core.database import Database
from core.llm.port import Model
from skills.review.history import Engine


@dataclass(frozen=True)
class ReviewParts:
    """`runs` reads the attached engine's history. `repairs_per_day` is the most that one skill is repaired a day."""

    database: Database
    model: Model
    runs: Engine
    repairs_per_day: int = 3

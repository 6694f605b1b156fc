"""What the room is made with; the composition root hands it in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from core.database import Database
from core.model import Model
from core.search.parts import SearchParts


@dataclass(frozen=True)
class MemoryParts:
    """`within` is how long a recall may take, in seconds; `quiet` how long nothing is said before it is read."""

    database: Database
    model: Model
    search: SearchParts
    within: float = 2.0
    quiet: timedelta = timedelta(seconds=5)

"""Dependencies of the memory, passed in by the composition root."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from core.database import Database
from core.llm.port import Model
from core.search.dependencies import SearchDependencies


@dataclass(frozen=True)
class MemoryDependencies:
    """What the memory needs. `within` limits a recall, in seconds; `quiet` is the pause before reading messages."""

    database: Database
    model: Model
    search: SearchDependencies
    within: float = 2.0
    quiet: timedelta = timedelta(seconds=5)

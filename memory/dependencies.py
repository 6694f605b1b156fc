"""Dependencies of the memory; the composition root hands them in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from core.database import Database
from core.llm.port import Model
from core.search.dependencies import SearchDependencies


@dataclass(frozen=True)
class MemoryDependencies:
    """`within` is how long a recall may take, in seconds; `quiet` how long nothing is said before it is read."""

    database: Database
    model: Model
    search: SearchDependencies
    within: float = 2.0
    quiet: timedelta = timedelta(seconds=5)

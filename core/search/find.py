"""Finding entries by words and by meaning."""

from __future__ import annotations

from dataclasses import dataclass

from core.search.parts import SearchParts
from core.search.where import Where


@dataclass(frozen=True)
class Hit:
    """An entry that was found; `score` is between 0 (nothing in common) and 1."""

    id: str
    text: str
    score: float


@dataclass(frozen=True)
class Found:
    """Best first. `degraded`: the index did not answer, and the entries themselves were looked through."""

    hits: tuple[Hit, ...]
    degraded: bool


def find(search: SearchParts, where: Where, query: str, *, limit: int = 8, within: float = 1.0) -> Found:
    """At most `limit` entries inside `where`. `within` is how long the index may take, in seconds.

    What was put is found and what was removed is not, from the commit on, whatever the index knows. An index that is
    away raises nothing.
    """
    raise NotImplementedError

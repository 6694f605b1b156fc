"""Dependencies of a search: the database, an embedder and a vector index."""

from __future__ import annotations

from dataclasses import dataclass

from core.database import Database
from core.search.index import VectorIndex
from core.search.vectors import Embedder


@dataclass(frozen=True)
class SearchDependencies:
    """The parts of a search; model and index are opened only at their first use."""

    database: Database
    embedder: Embedder
    index: VectorIndex

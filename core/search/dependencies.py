"""What a search depends on: the database, an embedder and a vector index."""

from __future__ import annotations

from dataclasses import dataclass

from core.database import Database
from core.search.index import VectorIndex
from core.search.vectors import Embedder


@dataclass(frozen=True)
class SearchDependencies:
    """Making it opens nothing: the model is loaded and the index asked at their first use."""

    database: Database
    embedder: Embedder
    index: VectorIndex

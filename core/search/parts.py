"""What a search is made of."""

from __future__ import annotations

from dataclasses import dataclass

from core.database import Database
from core.search.embedding import Embedder
from core.search.index import Index


@dataclass(frozen=True)
class SearchParts:
    """Making it opens nothing: the model is loaded and the index asked at their first use."""

    database: Database
    embedder: Embedder
    index: Index

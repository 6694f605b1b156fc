"""What searches: the embedder of this machine, and the index that the settings name."""

from __future__ import annotations

from core.database import Database
from core.search.chroma import ChromaIndex
from core.search.dependencies import SearchDependencies
from core.search.embedders import best_embedder
from core.search.index import NoIndex
from core.settings import Settings


def make_search(settings: Settings, database: Database) -> SearchDependencies:
    """Opens nothing: model and index are asked at their first use. Without an address the rows are looked through."""
    index = ChromaIndex(settings.vector_url) if settings.vector_url else NoIndex()
    return SearchDependencies(database, best_embedder(), index)

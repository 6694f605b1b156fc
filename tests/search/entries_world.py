"""A database whose search entries a test puts, removes and looks for."""

from __future__ import annotations

from core.search import entries
from core.search.dependencies import SearchDependencies
from core.search.embedders import best_embedder
from core.search.index import VectorIndex, Where
from core.search.query import SearchResult, find_hits
from tests.support.databases import Store

ROOM = "memory"
EMBEDDER = best_embedder()


class EntriesWorld:
    """Entries of one room in the store's workspace."""

    def __init__(self, store: Store, index: VectorIndex) -> None:
        self.store = store
        self.search = SearchDependencies(store.database, EMBEDDER, index)

    def put(self, entry_id: str, text: str, scope: str = "workspace", room: str = ROOM) -> None:
        vector = EMBEDDER.embed([text])[0]
        with self.store.database.transaction(self.store.workspace_id) as inner:
            entries.put_entry(inner, room, entry_id, scope, text, vector)

    def remove(self, entry_id: str) -> bool:
        with self.store.database.transaction(self.store.workspace_id) as inner:
            return entries.remove_entry(inner, ROOM, entry_id)

    def find(self, query: str, *scopes: str, limit: int = 8, within: float = 1.0, room: str = ROOM) -> SearchResult:
        where = Where(self.store.workspace_id, room, scopes or ("workspace",))
        return find_hits(self.search, where, query, limit=limit, within=within)

    def ids(self, query: str, *scopes: str, limit: int = 8) -> list[str]:
        return [hit.id for hit in self.find(query, *scopes, limit=limit).hits]

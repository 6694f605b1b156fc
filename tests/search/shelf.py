"""A database whose entries a test puts, removes and looks for."""

from __future__ import annotations

from core.search import entries
from core.search.embedders import best_embedder
from core.search.find import Found, find
from core.search.index import Index
from core.search.parts import SearchParts
from core.search.where import Where
from tests.support.databases import Store

ROOM = "memory"
EMBEDDER = best_embedder()


class Shelf:
    """Entries of one room in the store's workspace."""

    def __init__(self, store: Store, index: Index) -> None:
        self.store = store
        self.search = SearchParts(store.database, EMBEDDER, index)

    def put(self, entry_id: str, text: str, scope: str = "workspace", room: str = ROOM) -> None:
        vector = EMBEDDER.embed([text])[0]
        with self.store.database.transaction(self.store.workspace_id) as inner:
            entries.put(inner, room, entry_id, scope, text, vector)

    def remove(self, entry_id: str) -> bool:
        with self.store.database.transaction(self.store.workspace_id) as inner:
            return entries.remove(inner, ROOM, entry_id)

    def find(self, query: str, *scopes: str, limit: int = 8, within: float = 1.0, room: str = ROOM) -> Found:
        where = Where(self.store.workspace_id, room, scopes or ("workspace",))
        return find(self.search, where, query, limit=limit, within=within)

    def ids(self, query: str, *scopes: str, limit: int = 8) -> list[str]:
        return [hit.id for hit in self.find(query, *scopes, limit=limit).hits]

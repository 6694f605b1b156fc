"""Read what the index holds."""

from __future__ import annotations

from core.search import collections
from tests.search.entries_world import EntriesWorld


def index_entries(shelf: EntriesWorld) -> dict[str, str]:
    """The stamp of each entry in all of the workspace's collections."""
    with shelf.store.database.reading(shelf.store.workspace_id) as scope:
        names = collections.list_collections(scope).values()
    return {key.id: stamp for name in names for key, stamp in shelf.search.index.stamps(name).items()}


def collection_of(shelf: EntriesWorld) -> str:
    with shelf.store.database.reading(shelf.store.workspace_id) as scope:
        collection = collections.find_collection(scope, shelf.search.embedder.id)
    assert collection is not None
    return collection.name

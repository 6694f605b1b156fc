"""The process that writes the index dies at each commit, and the next one finishes: index and database are one."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.search.chroma import ChromaIndex
from core.search.dependencies import SearchDependencies
from core.search.index import EntryKey
from core.search.index_sync import mend_index, rebuild_index, sync_index
from core.search.tables import search_entries
from core.search.vectors import Embedder
from tests.faults.dying import survive
from tests.search.entries_world import EMBEDDER, ROOM, EntriesWorld
from tests.search.index_contents import collection_of, index_entries
from tests.search.other_embedder import OtherEmbedder
from tests.support.databases import Store
from tests.support.index_process import IndexProcess

pytestmark = pytest.mark.kill


def _both(name: str) -> tuple[str, str]:
    return f"{name}.before_commit", f"{name}.after_commit"


DEATHS: dict[str, tuple[str, ...]] = {
    "followed": (*_both("search.collection"), *_both("search.followed")),
    "embedded_anew": (*_both("search.embedded"), *_both("search.dropped")),
    "compared": _both("search.compared"),
    "built_again": _both("search.let_go"),
}


@pytest.fixture
def shelf(store: Store, index_process: IndexProcess) -> EntriesWorld:
    shelf = EntriesWorld(store, ChromaIndex(index_process.url))
    for n in range(3):
        shelf.put(f"entry-{n}", f"Customer number {n} likes matte paper.")
    return shelf


def fresh(shelf: EntriesWorld, url: str, embedder: Embedder = EMBEDDER) -> SearchDependencies:
    """Nothing that holds a connection is handed from one process to the next."""
    return SearchDependencies(shelf.store.database, embedder, ChromaIndex(url))


def whole(shelf: EntriesWorld, *gone: str) -> None:
    mend_index(shelf.search, shelf.store.workspace_id)
    with shelf.store.database.reading(shelf.store.workspace_id) as scope:
        rows = scope.rows(scope.select(search_entries))
    assert {row.id for row in rows} == {f"entry-{n}" for n in range(3)} - set(gone)
    assert all(row.indexed_at is not None for row in rows)
    assert index_entries(shelf) == {row.id: row.stamp for row in rows}
    assert mend_index(shelf.search, shelf.store.workspace_id) == 0


def test_while_it_follows(shelf: EntriesWorld, index_process: IndexProcess, tmp_path: Path) -> None:
    sync_index(shelf.search, shelf.store.workspace_id)
    shelf.remove("entry-1")

    survive(
        shelf.store,
        tmp_path,
        DEATHS["followed"],
        lambda: sync_index(fresh(shelf, index_process.url), shelf.store.workspace_id),
    )

    whole(shelf, "entry-1")


def test_while_it_embeds_anew(shelf: EntriesWorld, index_process: IndexProcess, tmp_path: Path) -> None:
    sync_index(shelf.search, shelf.store.workspace_id)
    shelf.search = fresh(shelf, index_process.url, OtherEmbedder())

    survive(
        shelf.store,
        tmp_path,
        DEATHS["embedded_anew"],
        lambda: sync_index(fresh(shelf, index_process.url, OtherEmbedder()), shelf.store.workspace_id),
    )

    whole(shelf)


def test_while_it_compares(shelf: EntriesWorld, index_process: IndexProcess, tmp_path: Path) -> None:
    sync_index(shelf.search, shelf.store.workspace_id)
    shelf.search.index.remove(collection_of(shelf), [EntryKey(ROOM, "entry-0")])

    survive(
        shelf.store,
        tmp_path,
        DEATHS["compared"],
        lambda: mend_index(fresh(shelf, index_process.url), shelf.store.workspace_id),
    )

    whole(shelf)


def test_while_it_is_built_again(shelf: EntriesWorld, index_process: IndexProcess, tmp_path: Path) -> None:
    sync_index(shelf.search, shelf.store.workspace_id)

    survive(
        shelf.store,
        tmp_path,
        DEATHS["built_again"],
        lambda: rebuild_index(fresh(shelf, index_process.url), shelf.store.workspace_id),
    )

    whole(shelf)

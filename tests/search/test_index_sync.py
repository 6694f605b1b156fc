"""The index follows the entries, through kills and losses: what it holds is what the database holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta

import pytest

from core import leases
from core.search import collections, index_sync
from core.search.chroma import ChromaIndex
from core.search.dependencies import SearchDependencies
from core.search.index import EntryKey, IndexItem, NoIndex
from core.search.index_sync import SyncResult, mend_index, rebuild_index, sync_index, sync_pending_index
from core.search.tables import search_entries
from tests.search.entries_world import EMBEDDER, ROOM, EntriesWorld
from tests.search.index_contents import collection_of, index_entries
from tests.search.other_embedder import OtherEmbedder
from tests.support.databases import Store
from tests.support.index_process import IndexProcess

TEXTS = {
    "colour": "Our brand colour is cobalt.",
    "paper": "Posters are printed on matte paper.",
    "length": "Films for the fair are never longer than twenty seconds.",
}


@pytest.fixture
def shelf(store: Store, index_process: IndexProcess) -> Iterator[EntriesWorld]:
    """Three entries, not indexed yet."""
    shelf = EntriesWorld(store, ChromaIndex(index_process.url))
    for entry_id, text in TEXTS.items():
        shelf.put(entry_id, text)
    yield shelf
    if not index_process.runs:
        index_process.start()


def follow(shelf: EntriesWorld) -> SyncResult:
    return sync_index(shelf.search, shelf.store.workspace_id)


def watch(shelf: EntriesWorld) -> int:
    return mend_index(shelf.search, shelf.store.workspace_id)


def test_what_is_put_and_removed_reaches_the_index(shelf: EntriesWorld) -> None:
    assert follow(shelf) is SyncResult.DONE
    assert set(index_entries(shelf)) == set(TEXTS)

    shelf.remove("paper")
    shelf.put("voice", "We write to customers as to friends.")

    assert follow(shelf) is SyncResult.DONE
    assert set(index_entries(shelf)) == {"colour", "length", "voice"}
    with shelf.store.database.reading(shelf.store.workspace_id) as scope:
        assert {row.id for row in scope.rows(scope.select(search_entries))} == set(index_entries(shelf))


def test_the_watch_makes_up_for_a_lost_bell_and_then_rests(shelf: EntriesWorld) -> None:
    assert watch(shelf) == 1
    assert set(index_entries(shelf)) == set(TEXTS)

    assert watch(shelf) == 0
    shelf.remove("paper")
    assert watch(shelf) == 1
    assert set(index_entries(shelf)) == {"colour", "length"}
    assert watch(shelf) == 0


def test_nothing_of_what_was_removed_is_left_anywhere(shelf: EntriesWorld) -> None:
    follow(shelf)
    shelf.remove("colour")

    with shelf.store.database.reading(shelf.store.workspace_id) as scope:
        row = scope.first(scope.select(search_entries).where(search_entries.c.id == "colour"))
    assert row is not None
    assert (row.text, row.folded, row.vector) == ("", "", b"")

    name, key = collection_of(shelf), EntryKey(ROOM, "colour")
    assert shelf.search.index.which_of(name, [key]) == {key}
    follow(shelf)
    assert shelf.search.index.which_of(name, [key]) == set()


def test_a_killed_index_degrades_a_search_and_loses_nothing(shelf: EntriesWorld, index_process: IndexProcess) -> None:
    follow(shelf)

    index_process.kill()

    found = shelf.find("matte paper")
    assert found.degraded
    assert found.hits[0].id == "paper"
    shelf.remove("paper")
    assert follow(shelf) is SyncResult.AWAY
    assert watch(shelf) == 0
    assert "paper" not in [hit.id for hit in shelf.find("matte paper").hits]
    index_process.start()
    assert watch(shelf) == 1
    assert set(index_entries(shelf)) == {"colour", "length"}
    assert not shelf.find("matte paper").degraded


def test_a_lost_index_is_built_again_by_itself(shelf: EntriesWorld, index_process: IndexProcess) -> None:
    follow(shelf)
    index_process.kill()
    index_process.wipe()
    index_process.start()

    found = shelf.find("matte paper")
    assert found.degraded
    assert found.hits[0].id == "paper"
    assert watch(shelf) == 1
    assert set(index_entries(shelf)) == set(TEXTS)
    assert not shelf.find("matte paper").degraded


def test_an_index_that_hangs_costs_a_search_no_longer_than_it_allows(
    shelf: EntriesWorld, index_process: IndexProcess
) -> None:
    follow(shelf)
    index_process.hold()
    try:
        found = shelf.find("matte paper", within=0.2)
    finally:
        index_process.let_go()

    assert found.degraded
    assert found.hits[0].id == "paper"


def test_strangers_in_the_index_go_and_what_it_lacks_comes_back(shelf: EntriesWorld) -> None:
    follow(shelf)
    name, vector = collection_of(shelf), EMBEDDER.embed(["Our brand colour is cobalt."])[0].data
    shelf.search.index.remove(name, [EntryKey(ROOM, "paper")])
    shelf.search.index.put(name, shelf.store.workspace_id, [IndexItem(ROOM, "ghost", "workspace", "old", vector)])

    assert "ghost" not in shelf.ids("cobalt")
    assert watch(shelf) == 1

    assert set(index_entries(shelf)) == set(TEXTS)


def test_a_rebuilt_index_is_a_new_one_with_the_same_entries(shelf: EntriesWorld) -> None:
    follow(shelf)
    before = collection_of(shelf)

    assert rebuild_index(shelf.search, shelf.store.workspace_id) is SyncResult.DONE

    assert collection_of(shelf) != before
    assert shelf.search.index.count(before) == 0
    assert set(index_entries(shelf)) == set(TEXTS)


def test_one_owner_writes_at_a_time(shelf: EntriesWorld) -> None:
    leases.acquire_lease(shelf.store.database, index_sync.LEASE, "another process", timedelta(seconds=10))

    assert follow(shelf) is SyncResult.BUSY
    assert set(index_entries(shelf)) == set()

    shelf.store.clock.advance(timedelta(seconds=11))
    assert follow(shelf) is SyncResult.DONE


def test_a_forged_bell_without_its_rows_does_nothing(shelf: EntriesWorld) -> None:
    assert sync_pending_index(shelf.search, "ws_forged") is SyncResult.DONE
    assert mend_index(shelf.search, "ws_forged") == 0
    assert index_entries(shelf) == {}


def test_a_transaction_rings_once_and_the_watch_is_not_needed(shelf: EntriesWorld) -> None:
    bells = shelf.store.bells.rung
    assert [bell.event.name for bell in bells] == ["search/entries.changed"] * len(TEXTS)
    assert len({bell.id for bell in bells}) == len(TEXTS)

    assert sync_pending_index(shelf.search, bells[0].event.workspace_id) is SyncResult.DONE

    assert set(index_entries(shelf)) == set(TEXTS)


def test_when_the_time_is_up_the_rest_is_left_to_the_next_pass(shelf: EntriesWorld) -> None:
    assert sync_index(shelf.search, shelf.store.workspace_id, within=0) is SyncResult.MORE

    assert set(index_entries(shelf)) == set()
    assert shelf.ids("matte paper", limit=1) == ["paper"]
    assert watch(shelf) == 1


def test_a_new_model_embeds_every_entry_anew(shelf: EntriesWorld) -> None:
    follow(shelf)
    old = collection_of(shelf)
    shelf.search = SearchDependencies(shelf.store.database, OtherEmbedder(), shelf.search.index)
    assert shelf.ids("matte paper", limit=1) == ["paper"]

    assert watch(shelf) == 1

    assert shelf.ids("on which paper", limit=1) == ["paper"]
    assert set(index_entries(shelf)) == set(TEXTS)
    assert shelf.search.index.count(old) == 0
    with shelf.store.database.reading(shelf.store.workspace_id) as scope:
        assert list(collections.list_collections(scope)) == ["newer-1"]


def test_without_an_index_the_watch_stays_calm_and_what_is_removed_is_gone(shelf: EntriesWorld) -> None:
    shelf.search = SearchDependencies(shelf.store.database, EMBEDDER, NoIndex())

    assert watch(shelf) == 0
    assert follow(shelf) is SyncResult.AWAY
    assert shelf.remove("paper")
    with shelf.store.database.reading(shelf.store.workspace_id) as scope:
        assert {row.id for row in scope.rows(scope.select(search_entries))} == {"colour", "length"}


class Interrupted(ChromaIndex):
    """While its first batch is on its way, something else happens."""

    def __init__(self, url: str, meanwhile: Callable[[], None]) -> None:
        super().__init__(url)
        self._meanwhile = [meanwhile]

    def put(self, collection: str, workspace_id: str, items: Sequence[IndexItem]) -> None:
        super().put(collection, workspace_id, items)
        while self._meanwhile:
            self._meanwhile.pop()()


def test_a_change_while_the_index_is_written_is_indexed_after_it(
    shelf: EntriesWorld, index_process: IndexProcess
) -> None:
    def meanwhile() -> None:
        shelf.remove("colour")
        shelf.put("paper", "Posters are printed on glossy paper.")

    interrupted = SearchDependencies(shelf.store.database, EMBEDDER, Interrupted(index_process.url, meanwhile))

    assert sync_index(interrupted, shelf.store.workspace_id) is SyncResult.DONE

    assert set(index_entries(shelf)) == {"paper", "length"}
    with shelf.store.database.reading(shelf.store.workspace_id) as scope:
        stamps = {row.id: row.stamp for row in scope.rows(scope.select(search_entries))}
    assert index_entries(shelf) == stamps

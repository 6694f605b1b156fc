"""What is put is found, by words and by meaning, where the asker may look; what is removed is not."""

from __future__ import annotations

import pytest

from core.search.chroma import ChromaIndex
from core.search.index import NoIndex, Where
from core.search.index_sync import SyncResult, sync_index
from tests.search.entries_world import EntriesWorld
from tests.support.databases import Store
from tests.support.index_process import IndexProcess


@pytest.fixture(params=["indexed", "not yet indexed", "no index"])
def shelf(request: pytest.FixtureRequest, store: Store, index_process: IndexProcess) -> EntriesWorld:
    """The same answers whether the index knows the entries, does not know them yet, or is away."""
    shelf = EntriesWorld(store, NoIndex() if request.param == "no index" else ChromaIndex(index_process.url))
    if request.param == "indexed":
        put = shelf.put

        def put_and_index(*words: str, **more: str) -> None:
            put(*words, **more)
            assert sync_index(shelf.search, store.workspace_id) is SyncResult.DONE

        shelf.put = put_and_index  # type: ignore[method-assign]
    return shelf


def test_a_paraphrase_is_found_by_its_meaning(shelf: EntriesWorld) -> None:
    shelf.put("colour", "Our brand colour is cobalt blue.")
    shelf.put("length", "Films for the fair are never longer than twenty seconds.")
    shelf.put("voice", "We write to customers as to friends.")

    assert shelf.ids("Which hue does the company use?", limit=1) == ["colour"]
    assert shelf.ids("maximum duration of a video", limit=1) == ["length"]


def test_an_exact_word_is_found_whatever_it_means(shelf: EntriesWorld) -> None:
    for n in range(8):
        shelf.put(f"other-{n}", f"Customer number {n} likes colours and brands, and a friendly voice.")
    shelf.put("lamp", "The lamp XR-7100 is sold out until May; show its façade. 我们的品牌颜色是钴蓝。")

    for query in ("XR-7100", "the xr-7100 please", "façade", "FACADE", "钴蓝", "品牌颜色"):
        assert shelf.ids(query, limit=1) == ["lamp"], query


def test_nothing_outside_the_scopes_is_found(shelf: EntriesWorld) -> None:
    shelf.put("ours", "Our brand colour is cobalt.", scope="workspace")
    shelf.put("mine", "My own brand colour is cobalt.", scope="person_1")
    shelf.put("theirs", "Their brand colour is cobalt.", scope="person_2")
    shelf.put("skill", "The brand colour is cobalt.", room="other")

    assert set(shelf.ids("brand colour cobalt", "workspace", "person_1")) == {"ours", "mine"}
    assert shelf.ids("brand colour cobalt", "person_3") == []


def test_a_removed_entry_is_found_nowhere_at_once(shelf: EntriesWorld) -> None:
    shelf.put("colour", "Our brand colour is cobalt.")
    shelf.put("paper", "Posters are printed on matte paper.")

    assert shelf.remove("colour")

    assert "colour" not in shelf.ids("brand colour cobalt")
    assert not shelf.remove("colour")


def test_a_changed_entry_is_found_as_what_it_is_now(shelf: EntriesWorld) -> None:
    shelf.put("colour", "Our brand colour is cobalt.")
    shelf.put("colour", "Our brand colour is bottle green.")

    (hit,) = shelf.find("bottle green").hits
    assert hit.text == "Our brand colour is bottle green."
    assert all("cobalt" not in one.text for one in shelf.find("cobalt").hits)


def test_an_entry_that_was_removed_can_be_put_again(shelf: EntriesWorld) -> None:
    shelf.put("colour", "Our brand colour is cobalt.")
    shelf.remove("colour")
    shelf.put("colour", "Our brand colour is cobalt.")

    assert shelf.ids("cobalt") == ["colour"]


def test_a_strange_query_finds_something_or_nothing_and_breaks_nothing(shelf: EntriesWorld) -> None:
    shelf.put("colour", "Our brand colour is cobalt.")

    for query in ("", "  ", "\0", "%", "_", "' or 1=1 --", "a" * 50_000, "\ud800", "🌊"):
        assert len(shelf.find(query).hits) <= 1, query[:20]


@pytest.mark.parametrize(
    ("workspace", "room", "scopes"), [("", "m", ("s",)), ("w", "", ("s",)), ("w", "m", ()), ("w", "m", ("",))]
)
def test_a_search_without_a_scope_cannot_be_written(workspace: str, room: str, scopes: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="a search needs"):
        Where(workspace, room, scopes)

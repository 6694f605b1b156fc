"""Many processes store and search, some die, and the index is killed and lost: all see one set at the end."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from multiprocessing import get_context
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any

import pytest

from core.identity import HOME_WORKSPACE as WORKSPACE_ID
from core.search import collections, entries
from core.search.dependencies import SearchDependencies
from core.search.index_sync import mend_index
from core.search.tables import search_entries
from tests.search.busy_process import ROOM, SECRET, SECRET_TEXT, put_entry, run_busy_process, search_parts, text_of
from tests.support.databases import Store
from tests.support.index_process import IndexProcess
from tests.support.waiting import until

WEBS, STAYING = ("web-1", "web-2", "web-3", "web-4"), ("web-1", "web-2", "web-4", "worker-2", "sidecar")
SECONDS = float(os.environ.get("WRITING_SECONDS", "9"))
"""How long the processes write besides what is done to them; a run of five minutes is `WRITING_SECONDS=300`."""


class Crowd:
    """Processes by their names, as the web, the worker and the sidecar of one home would be."""

    def __init__(self, folder: Path, database_url: str, index_url: str) -> None:
        self.folder = folder
        self._told = (folder, database_url, index_url)
        self._processes: dict[str, ForkProcess] = {}

    def start(self, name: str, plan: str = "") -> None:
        self._processes[name] = process = get_context("fork").Process(
            target=run_busy_process, args=(name, *self._told, plan)
        )
        process.start()

    def has_put(self, name: str) -> int:
        alive = self.folder / f"{name}.alive"
        return int(alive.read_text() or 0) if alive.exists() else 0

    def ended(self, name: str) -> int | None:
        return self._processes[name].exitcode

    def saw(self, name: str, what: str = "json") -> dict[str, Any]:
        path = self.folder / f"{name}.{what}"
        until(f"{path.name}", lambda: path.exists() or self.ended(name) is not None, 120)
        assert path.exists(), f"{name} ended; its traceback stands in the captured output"
        seen: dict[str, Any] = json.loads(path.read_text())
        return seen

    def close(self) -> None:
        for process in self._processes.values():
            process.kill()
            process.join()


@pytest.fixture
def crowd(store: Store, index_process: IndexProcess, tmp_path: Path) -> Iterator[Crowd]:
    crowd = Crowd(tmp_path, store.database.url, index_process.url)
    yield crowd
    crowd.close()


@pytest.mark.case("B54")
@pytest.mark.long
@pytest.mark.kill
def test_all_processes_see_one_index_whatever_died(store: Store, index_process: IndexProcess, crowd: Crowd) -> None:
    # Given a secret that the index knows, and six processes that put and search
    search = search_parts(store.database.url, index_process.url)
    put_entry(search, SECRET, SECRET_TEXT)
    mend_index(search, WORKSPACE_ID)
    # No connection is handed to a fork.
    search.database.close()
    for name in (*WEBS, "sidecar"):
        # One web process dies inside a transaction, the worker between the index and its note of it.
        crowd.start(name, "busy.put.before_commit#12" if name == "web-3" else "")
    crowd.start("worker-1", "search.followed.before_commit#6")
    until("their work", lambda: all(crowd.has_put(name) > 2 for name in STAYING[:3]), 120)
    # When one forgets the secret, two die, and the index is killed once and lost once
    with search.database.transaction(WORKSPACE_ID) as scope:
        assert entries.remove_entry(scope, ROOM, SECRET)
    forgotten_at = time.time()
    until("the death of two", lambda: crowd.ended("web-3") is not None and crowd.ended("worker-1") is not None, 120)
    crowd.start("worker-2")
    _at_rest(SECONDS / 3)
    index_process.kill()
    _at_rest(1)
    index_process.start()
    _at_rest(SECONDS / 3)
    index_process.kill()
    index_process.wipe()
    _at_rest(1)
    index_process.start()
    _at_rest(SECONDS / 3)
    (crowd.folder / "stop").touch()
    saw = {name: crowd.saw(name) for name in STAYING}
    # Then the index holds what the database holds, without anybody's asking for it
    until("a pass that finds nothing to do", lambda: mend_index(search, WORKSPACE_ID) == 0, 60)
    rows = _rows(store)
    assert _in_index(search) == rows
    assert [crowd.ended(name) for name in ("web-3", "worker-1")] == [-signal.SIGKILL] * 2
    assert set(rows) >= {entry_id for seen in saw.values() for entry_id in seen["put"]}
    assert "web-3-11" not in rows
    # And each saw what it had just put, and nobody the secret from then on
    assert {name: seen["missed"] for name, seen in saw.items()} == {name: [] for name in STAYING}
    assert [at for seen in saw.values() for at in seen["secret_seen_by_a_search_begun_at"] if at > forgotten_at] == []
    assert sum(seen["degraded"] for seen in saw.values()) > 0
    # And all of them, and a fresh one, find the same, with the index's help
    queries = [text_of(entry_id) for entry_id in sorted(rows)[:: max(1, len(rows) // 12)]]
    (crowd.folder / "look.new").write_text(json.dumps([*queries, SECRET_TEXT]))
    crowd.start("fresh")
    (crowd.folder / "look.new").rename(crowd.folder / "look")
    last = [crowd.saw(name, "last.json") for name in (*STAYING, "fresh")]
    assert all(one == last[0] for one in last)
    assert last[0]["degraded"] == 0
    assert all(SECRET not in ids for ids in last[0]["found"].values())
    assert len(rows) > 40


def _rows(store: Store) -> dict[str, str]:
    with store.database.reading(WORKSPACE_ID) as scope:
        return {row.id: row.stamp for row in scope.rows(scope.select(search_entries))}


def _in_index(search: SearchDependencies) -> dict[str, str]:
    with search.database.reading(WORKSPACE_ID) as scope:
        (name,) = collections.list_collections(scope).values()
    return {key.id: stamp for key, stamp in search.index.stamps(name).items()}


def _at_rest(seconds: float) -> None:
    time.sleep(seconds)

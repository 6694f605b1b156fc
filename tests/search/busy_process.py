"""One process of several that put and search entries in one home, until it is told to end.

It puts texts with a word of their own, looks for what it just put, for what others put and for the secret, and writes
what it saw into FOLDER/NAME.json when the file FOLDER/stop is there; then, at FOLDER/look, what it finds at last into
FOLDER/NAME.last.json. A process named worker also keeps the index, as the watch would.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from core.clock import SystemClock
from core.database import Database
from core.identity import HOME_WORKSPACE as WORKSPACE_ID
from core.process import crash
from core.search import entries
from core.search.chroma import ChromaIndex
from core.search.dependencies import SearchDependencies
from core.search.embedders import best_embedder
from core.search.index import Where
from core.search.index_sync import mend_index
from core.search.query import SearchResult, find_hits

ROOM, SCOPE, SECRET = "memory", "workspace", "secret"
WHERE = Where(WORKSPACE_ID, ROOM, (SCOPE,))
SECRET_TEXT = "The launch is called Moonstone and happens in October."
ENDS_ITSELF_AFTER = 600.0


@dataclass
class BusyReport:
    """What a process did and saw. Times are the machine's, in seconds."""

    put: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    secret_seen_by_a_search_begun_at: list[float] = field(default_factory=list)
    searches: int = 0
    degraded: int = 0


def text_of(entry_id: str) -> str:
    return f"Customer {entry_id.replace('-', '')} likes posters on matte paper."


def put_entry(search: SearchDependencies, entry_id: str, text: str) -> None:
    vector = search.embedder.embed([text])[0]
    with search.database.transaction(WORKSPACE_ID, "busy.put") as scope:
        entries.put_entry(scope, ROOM, entry_id, SCOPE, text, vector)


def find_entries(search: SearchDependencies, query: str) -> SearchResult:
    return find_hits(search, WHERE, query, limit=5)


def search_parts(database_url: str, index_url: str) -> SearchDependencies:
    return SearchDependencies(Database(database_url, clock=SystemClock()), best_embedder(), ChromaIndex(index_url))


def put_and_search(name: str, folder: Path, search: SearchDependencies) -> BusyReport:
    seen, deadline = BusyReport(), time.monotonic() + ENDS_ITSELF_AFTER
    while not (folder / "stop").exists() and time.monotonic() < deadline:
        entry_id = f"{name}-{len(seen.put)}"
        put_entry(search, entry_id, text_of(entry_id))
        seen.put.append(entry_id)
        (folder / f"{name}.alive").write_text(str(len(seen.put)))
        found = find_entries(search, f"customer {entry_id.replace('-', '')}")
        if entry_id not in [hit.id for hit in found.hits]:
            seen.missed.append(entry_id)
        began = time.time()
        secret = find_entries(search, "when is the launch of Moonstone")
        if any("Moonstone" in hit.text for hit in secret.hits):
            seen.secret_seen_by_a_search_begun_at.append(began)
        seen.searches += 2
        seen.degraded += found.degraded + secret.degraded
        if name.startswith("worker"):
            mend_index(search, WORKSPACE_ID)
    return seen


def last_look(search: SearchDependencies, queries: list[str]) -> dict[str, object]:
    """What each query finds, and whether every answer came with the index's help."""
    found = {query: find_entries(search, query) for query in queries}
    return {
        "found": {query: sorted(hit.id for hit in one.hits) for query, one in found.items()},
        "degraded": sum(one.degraded for one in found.values()),
    }


def run_busy_process(name: str, folder: Path, database_url: str, index_url: str, plan: str) -> None:
    """The process from its beginning to its end."""
    crash.arm(plan, folder)
    search = search_parts(database_url, index_url)
    _write(folder / f"{name}.json", asdict(put_and_search(name, folder, search)))
    deadline = time.monotonic() + ENDS_ITSELF_AFTER
    while not (folder / "look").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    _write(folder / f"{name}.last.json", last_look(search, json.loads((folder / "look").read_text())))


def _write(path: Path, what: object) -> None:
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(what))
    os.replace(fresh, path)

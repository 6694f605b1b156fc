"""What one search costs, by how many entries there are and by what helps it: the index, or the entries alone.

`by_index` knows every entry, `pending` none of them yet, and `without` is a search whose index is away. `embed` is what
the query's vector takes, which is in each of them. Medians in milliseconds on the wall; those that end in `_cpu` are of
this process's processor time, which load changes less. `filled` is seconds from nothing to an index that holds all.
"""

from __future__ import annotations

import hashlib
import random
import struct
import tempfile
import time
from collections.abc import Callable
from math import sqrt
from pathlib import Path
from statistics import median
from typing import Any

from core.search import entries
from core.search.chroma import ChromaIndex
from core.search.dependencies import SearchDependencies
from core.search.embedders import best_embedder
from core.search.index import NoIndex, Where
from core.search.index_sync import SyncResult, sync_index
from core.search.query import find_hits
from core.search.vectors import Vector
from tests.support.databases import Store, prepared_file
from tests.support.index_process import IndexProcess

SIZES = (10, 1_000, 5_000)
_TIMES = 21
_QUERY = "which paper do our customers like for posters"


def rows() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        index = IndexProcess(Path(folder) / "home").start()
        try:
            return [_measure(size, Path(folder), index.url) for size in SIZES]
        finally:
            index.close()


def _measure(size: int, folder: Path, url: str) -> dict[str, Any]:
    store = prepared_file(folder / f"{size}.sqlite")
    embedder = best_embedder()
    with_index = SearchDependencies(store.database, embedder, ChromaIndex(url))
    without = SearchDependencies(store.database, embedder, NoIndex())
    _fill(store, embedder.id, embedder.dim, size)
    where = Where(store.workspace_id, "memory", ("workspace",))
    pending, _ = _median(lambda: find_hits(with_index, where, _QUERY))
    began = time.perf_counter()
    while sync_index(with_index, store.workspace_id, within=300) is not SyncResult.DONE:
        pass
    filled = time.perf_counter() - began
    by_index, by_index_cpu = _median(lambda: find_hits(with_index, where, _QUERY))
    away, away_cpu = _median(lambda: find_hits(without, where, _QUERY))
    embed, embed_cpu = _median(lambda: embedder.embed([_QUERY]))
    store.database.close()
    return {
        "entries": size,
        "by_index": by_index,
        "by_index_cpu": by_index_cpu,
        "pending": pending,
        "without": away,
        "without_cpu": away_cpu,
        "embed": embed,
        "embed_cpu": embed_cpu,
        "filled": round(filled, 1),
    }


def _fill(store: Store, model: str, dim: int, size: int) -> None:
    """Texts with vectors by lot: what an embedder would need minutes for does not change what a search costs."""
    dice = random.Random(size)
    for start in range(0, size, 500):
        with store.database.transaction(store.workspace_id) as scope:
            for n in range(start, min(start + 500, size)):
                name = hashlib.sha256(str(n).encode()).hexdigest()[:8]
                text = f"Customer {name} likes {dice.choice(('matte', 'glossy', 'recycled'))} paper and short films."
                entries.put_entry(scope, "memory", f"fact-{n}", "workspace", text, Vector(model, _direction(dice, dim)))


def _direction(dice: random.Random, dim: int) -> bytes:
    drawn = [dice.gauss(0, 1) for _ in range(dim)]
    length = sqrt(sum(one * one for one in drawn))
    return struct.pack(f"<{dim}f", *(one / length for one in drawn))


def _median(act: Callable[[], object]) -> tuple[float, float]:
    """Milliseconds on the wall, and of this process's processor time."""
    walls, own = [], []
    for _ in range(_TIMES):
        began, began_own = time.perf_counter(), time.process_time()
        act()
        walls.append(time.perf_counter() - began)
        own.append(time.process_time() - began_own)
    return round(median(walls) * 1000, 1), round(median(own) * 1000, 1)

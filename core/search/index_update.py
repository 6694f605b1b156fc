"""Update of the index: write pending entries in batches, and compare the index with the entries.

A batch may be written twice, which does no harm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from core.database import Scope
from core.search import collections
from core.search.collections import IndexCollection
from core.search.dependencies import SearchDependencies
from core.search.index import EntryKey, IndexAwayError, IndexItem, Where
from core.search.tables import search_entries

_BATCH = 100
_EMBED_BATCH = 20
_MARK_BATCH = 500
_COMPARED_EVERY = timedelta(hours=1)
_PROBE_SECONDS = 2.0
StillTime = Callable[[], bool]
"""Whether there is time left for another batch."""


def is_pending(model: str) -> sa.ColumnElement[bool]:
    """Return the condition of entries that the index must still take in (with vectors of `model`) or remove."""
    return sa.and_(
        search_entries.c.indexed_at.is_(None),
        sa.or_(search_entries.c.model == model, search_entries.c.removed_at.is_not(None)),
    )


def is_of_other_model(search: SearchDependencies) -> sa.ColumnElement[bool]:
    """Return the condition of entries with vectors of another model, to be embedded again.

    The embedder by spelling replaces no vectors of a better one.
    """
    if search.embedder.degraded:
        return sa.false()
    return sa.and_(search_entries.c.model != search.embedder.id, search_entries.c.removed_at.is_(None))


def update_index(search: SearchDependencies, workspace_id: str, still_time: StillTime) -> bool:
    """Embed again, put and remove until nothing is pending; False when the time is up before."""
    if not _embed_again(search, workspace_id, still_time):
        return False
    # Record a collection only once an index can hold it: without one, removed entries are deleted with their rows.
    if not search.index.alive():
        raise IndexAwayError("the index does not answer")
    with search.database.transaction(workspace_id, "search.collection") as scope:
        collection = collections.ensure_collection(scope, search.embedder)
    if not _put_and_remove(search, workspace_id, collection, still_time):
        return False
    _drop_other_collections(search, workspace_id)
    return True


def _embed_again(search: SearchDependencies, workspace_id: str, still_time: StillTime) -> bool:
    while rows := _read_rows(search, workspace_id, is_of_other_model(search), _EMBED_BATCH):
        if not still_time():
            return False
        vectors = search.embedder.embed([row.text for row in rows])
        with search.database.transaction(workspace_id, "search.embedded") as scope:
            for row, vector in zip(rows, vectors, strict=True):
                fresh = {"model": vector.model, "vector": vector.data, "stamp": scope.ids.new("entry")}
                unchanged = search_entries.c.stamp == row.stamp
                scope.change(scope.update(search_entries).where(unchanged).values(**fresh, indexed_at=None))
    return True


def _put_and_remove(search: SearchDependencies, workspace_id: str, collection: str, still_time: StillTime) -> bool:
    while rows := _read_rows(search, workspace_id, is_pending(search.embedder.id), _BATCH):
        if not still_time():
            return False
        removed = [row for row in rows if row.removed_at is not None]
        present = [row for row in rows if row.removed_at is None]
        search.index.put(collection, workspace_id, [_item(row) for row in present])
        if removed:
            _remove_everywhere(search, workspace_id, removed)
        with search.database.transaction(workspace_id, "search.followed") as scope:
            scope.change(scope.update(search_entries).where(_unchanged(present)).values(indexed_at=scope.now))
            scope.change(scope.delete(search_entries).where(_unchanged(removed)))
    return True


def _remove_everywhere(search: SearchDependencies, workspace_id: str, removed: Sequence[sa.Row[Any]]) -> None:
    """Remove entries from the collections of all models, since another one may still have them."""
    with search.database.reading(workspace_id) as scope:
        names = collections.list_collections(scope).values()
    for name in names:
        search.index.remove(name, [EntryKey(row.room, row.id) for row in removed])


def _drop_other_collections(search: SearchDependencies, workspace_id: str) -> None:
    """Drop the collections of models that no entry uses any more."""
    if search.embedder.degraded:
        return
    with search.database.reading(workspace_id) as scope:
        others = {
            model: name for model, name in collections.list_collections(scope).items() if model != search.embedder.id
        }
    for model, name in others.items():
        search.index.drop(name)
        with search.database.transaction(workspace_id, "search.dropped") as scope:
            collections.forget_collection(scope, model)


def _read_rows(
    search: SearchDependencies, workspace_id: str, which: sa.ColumnElement[bool], limit: int
) -> list[sa.Row[Any]]:
    with search.database.reading(workspace_id) as scope:
        return scope.rows(_all(scope).where(which).order_by(search_entries.c.changed_at).limit(limit))


def _all(scope: Scope) -> sa.Select[Any]:
    return scope.select(search_entries)


def _unchanged(rows: Sequence[sa.Row[Any]]) -> sa.ColumnElement[bool]:
    # Every change gives an entry a new stamp, so a stamp identifies the entry as it was read.
    return search_entries.c.stamp.in_([row.stamp for row in rows])


def _item(row: sa.Row[Any]) -> IndexItem:
    return IndexItem(room=row.room, id=row.id, scope=row.scope, stamp=row.stamp, vector=row.vector)


@dataclass(frozen=True)
class IndexProbe:
    """An entry that the index should find."""

    where: Where
    vector: bytes


@dataclass(frozen=True)
class IndexState:
    """The state that a workspace's index should have, by the database."""

    collection: IndexCollection | None
    waiting: bool
    indexed: int
    probe: IndexProbe | None

    @property
    def is_empty(self) -> bool:
        """Tell whether nothing is indexed and nothing is pending."""
        return self.collection is None and not self.waiting


def read_index_state(search: SearchDependencies, workspace_id: str) -> IndexState:
    """Read the state from the database."""
    with search.database.reading(workspace_id) as scope:
        waiting = sa.or_(is_pending(search.embedder.id), is_of_other_model(search))
        indexed = _is_indexed(search.embedder.id)
        row = scope.first(scope.select(search_entries).where(indexed).limit(1))
        return IndexState(
            collection=collections.find_collection(scope, search.embedder.id),
            waiting=scope.first(scope.select(search_entries.c.id).where(waiting).limit(1)) is not None,
            indexed=scope.scalar(_count(scope).where(indexed)),
            probe=None if row is None else IndexProbe(Where(workspace_id, row.room, (row.scope,)), row.vector),
        )


def is_index_whole(search: SearchDependencies, state: IndexState) -> bool:
    """Tell whether the index seems complete; raises IndexAwayError, or IndexBrokenError when it answers wrongly."""
    if (collection := state.collection) is None:
        return state.indexed == 0
    if search.index.count(collection.name) != state.indexed:
        return False
    if (probe := state.probe) is not None:
        # What it finds does not matter: an index that is broken raises.
        search.index.near(collection.name, probe.where, probe.vector, 1, _PROBE_SECONDS)
    now = search.database.clock.now()
    return collection.compared_at is not None and now - collection.compared_at < _COMPARED_EVERY


def compare_index(search: SearchDependencies, workspace_id: str) -> None:
    """Compare all entries with the index: remove surplus ones, and mark missing or outdated ones as pending."""
    model = search.embedder.id
    with search.database.reading(workspace_id) as scope:
        collection = collections.find_collection(scope, model)
    held = {} if collection is None else search.index.stamps(collection.name)
    with search.database.reading(workspace_id) as scope:
        columns = (search_entries.c.room, search_entries.c.id, search_entries.c.stamp, search_entries.c.indexed_at)
        present = sa.and_(search_entries.c.model == model, search_entries.c.removed_at.is_(None))
        rows = scope.rows(scope.select(*columns).where(present))
    too_much = held.keys() - {EntryKey(row.room, row.id) for row in rows}
    missing = [
        row.stamp for row in rows if row.indexed_at is not None and held.get(EntryKey(row.room, row.id)) != row.stamp
    ]
    if collection is not None:
        search.index.remove(collection.name, sorted(too_much, key=lambda key: (key.room, key.id)))
    for start in range(0, len(missing), _MARK_BATCH):
        with search.database.transaction(workspace_id, "search.compared") as scope:
            mark_pending(scope, search_entries.c.stamp.in_(missing[start : start + _MARK_BATCH]))
    with search.database.transaction(workspace_id, "search.compared") as scope:
        collections.record_comparison(scope, model, scope.now)


def mark_pending(scope: Scope, which: sa.ColumnElement[bool]) -> None:
    """Mark entries to be written to the index again."""
    scope.change(scope.update(search_entries).where(which).values(indexed_at=None))


def _is_indexed(model: str) -> sa.ColumnElement[bool]:
    return sa.and_(
        search_entries.c.model == model,
        search_entries.c.removed_at.is_(None),
        search_entries.c.indexed_at.is_not(None),
    )


def _count(scope: Scope) -> sa.Select[tuple[int]]:
    return scope.select(sa.func.count(search_entries.c.id))

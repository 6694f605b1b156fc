"""Batches of entries on their way into the index, and out of it. Each may be done twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sqlalchemy as sa

from core.database import Scope
from core.search import collections
from core.search.index import EntryKey, IndexAwayError, Item
from core.search.parts import SearchParts
from core.search.tables import search_entries

_BATCH = 100
_EMBEDDED_AT_ONCE = 20
StillTime = Callable[[], bool]


def pending(model: str) -> sa.ColumnElement[bool]:
    """What the index has to follow: entries that are new to it or gone, as far as `model` made their vectors."""
    return sa.and_(
        search_entries.c.indexed_at.is_(None),
        sa.or_(search_entries.c.model == model, search_entries.c.removed_at.is_not(None)),
    )


def of_other_models(search: SearchParts) -> sa.ColumnElement[bool]:
    """Living entries whose vectors ours cannot be compared with; one that knows spelling only replaces none."""
    if search.embedder.degraded:
        return sa.false()
    return sa.and_(search_entries.c.model != search.embedder.id, search_entries.c.removed_at.is_(None))


def follow(search: SearchParts, workspace_id: str, still_time: StillTime) -> bool:
    """Embed anew, put and remove until nothing is pending; False when the time was up before."""
    if not _embed_anew(search, workspace_id, still_time):
        return False
    # A collection is noted where there is an index to hold it: until then what is removed is gone with its row.
    if not search.index.alive():
        raise IndexAwayError("the index does not answer")
    with search.database.transaction(workspace_id, "search.collection") as scope:
        collection = collections.ensure(scope, search.embedder)
    return _put_and_remove(search, workspace_id, collection, still_time) and _let_others_go(search, workspace_id)


def _embed_anew(search: SearchParts, workspace_id: str, still_time: StillTime) -> bool:
    while rows := _some(search, workspace_id, of_other_models(search), _EMBEDDED_AT_ONCE):
        if not still_time():
            return False
        vectors = search.embedder.embed([row.text for row in rows])
        with search.database.transaction(workspace_id, "search.embedded") as scope:
            for row, vector in zip(rows, vectors, strict=True):
                fresh = {"model": vector.model, "vector": vector.data, "stamp": scope.ids.new("entry")}
                unchanged = search_entries.c.stamp == row.stamp
                scope.change(scope.update(search_entries).where(unchanged).values(**fresh, indexed_at=None))
    return True


def _put_and_remove(search: SearchParts, workspace_id: str, collection: str, still_time: StillTime) -> bool:
    while rows := _some(search, workspace_id, pending(search.embedder.id), _BATCH):
        if not still_time():
            return False
        gone = [row for row in rows if row.removed_at is not None]
        there = [row for row in rows if row.removed_at is None]
        search.index.put(collection, workspace_id, [_item(row) for row in there])
        if gone:
            _remove(search, workspace_id, gone)
        with search.database.transaction(workspace_id, "search.followed") as scope:
            scope.change(scope.update(search_entries).where(_unchanged(there)).values(indexed_at=scope.now))
            scope.change(scope.delete(search_entries).where(_unchanged(gone)))
    return True


def _remove(search: SearchParts, workspace_id: str, gone: Sequence[sa.Row[Any]]) -> None:
    with search.database.reading(workspace_id) as scope:
        names = collections.all_of(scope).values()
    for name in names:
        search.index.remove(name, [EntryKey(row.room, row.id) for row in gone])


def _let_others_go(search: SearchParts, workspace_id: str) -> bool:
    """Drop the collections of models that no entry is of any more."""
    if search.embedder.degraded:
        return True
    with search.database.reading(workspace_id) as scope:
        others = {model: name for model, name in collections.all_of(scope).items() if model != search.embedder.id}
    for model, name in others.items():
        search.index.drop(name)
        with search.database.transaction(workspace_id, "search.dropped") as scope:
            collections.forget(scope, model)
    return True


def _some(search: SearchParts, workspace_id: str, which: sa.ColumnElement[bool], most: int) -> list[sa.Row[Any]]:
    with search.database.reading(workspace_id) as scope:
        return scope.rows(_all(scope).where(which).order_by(search_entries.c.changed_at).limit(most))


def _all(scope: Scope) -> sa.Select[Any]:
    return scope.select(search_entries)


def _unchanged(rows: Sequence[sa.Row[Any]]) -> sa.ColumnElement[bool]:
    # A stamp is new at each change, so that it names the entry as it was read.
    return search_entries.c.stamp.in_([row.stamp for row in rows])


def _item(row: sa.Row[Any]) -> Item:
    return Item(room=row.room, id=row.id, scope=row.scope, stamp=row.stamp, vector=row.vector)

"""What the index holds beside what it should hold."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import sqlalchemy as sa

from core.database import Scope
from core.search import collections
from core.search.collections import Collection
from core.search.following import of_other_models, pending
from core.search.index import EntryKey
from core.search.parts import SearchParts
from core.search.tables import search_entries
from core.search.where import Where

_MARKED_AT_ONCE = 500
_COMPARED_EVERY = timedelta(hours=1)
_PROBE_SECONDS = 2.0


@dataclass(frozen=True)
class Probe:
    """An entry that the index should know, to ask it for."""

    where: Where
    vector: bytes


@dataclass(frozen=True)
class Standing:
    """How a workspace's index should stand, as the database knows it."""

    collection: Collection | None
    waiting: bool
    indexed: int
    probe: Probe | None

    @property
    def is_empty(self) -> bool:
        return self.collection is None and not self.waiting


def standing(search: SearchParts, workspace_id: str) -> Standing:
    with search.database.reading(workspace_id) as scope:
        waiting = sa.or_(pending(search.embedder.id), of_other_models(search))
        indexed = _indexed(search.embedder.id)
        row = scope.first(scope.select(search_entries).where(indexed).limit(1))
        return Standing(
            collection=collections.of_model(scope, search.embedder.id),
            waiting=scope.first(scope.select(search_entries.c.id).where(waiting).limit(1)) is not None,
            indexed=scope.scalar(_count(scope).where(indexed)),
            probe=None if row is None else Probe(Where(workspace_id, row.room, (row.scope,)), row.vector),
        )


def is_whole(search: SearchParts, standing: Standing) -> bool:
    """Whether the index seems to hold what it should; raises IndexAwayError, and IndexBrokenError when it fails."""
    if (collection := standing.collection) is None:
        return standing.indexed == 0
    if search.index.count(collection.name) != standing.indexed:
        return False
    if (probe := standing.probe) is not None:
        search.index.near(collection.name, probe.where, probe.vector, 1, _PROBE_SECONDS)
    now = search.database.clock.now()
    return collection.compared_at is not None and now - collection.compared_at < _COMPARED_EVERY


def compare(search: SearchParts, workspace_id: str) -> None:
    """Look at every entry of the index: what is too much goes, what is missing or old is pending again."""
    model = search.embedder.id
    with search.database.reading(workspace_id) as scope:
        collection = collections.of_model(scope, model)
    held = {} if collection is None else search.index.stamps(collection.name)
    with search.database.reading(workspace_id) as scope:
        columns = (search_entries.c.room, search_entries.c.id, search_entries.c.stamp, search_entries.c.indexed_at)
        living = sa.and_(search_entries.c.model == model, search_entries.c.removed_at.is_(None))
        rows = scope.rows(scope.select(*columns).where(living))
    too_much = held.keys() - {EntryKey(row.room, row.id) for row in rows}
    missing = [
        row.stamp for row in rows if row.indexed_at is not None and held.get(EntryKey(row.room, row.id)) != row.stamp
    ]
    if collection is not None:
        search.index.remove(collection.name, sorted(too_much, key=lambda key: (key.room, key.id)))
    for start in range(0, len(missing), _MARKED_AT_ONCE):
        with search.database.transaction(workspace_id, "search.compared") as scope:
            mark_pending(scope, search_entries.c.stamp.in_(missing[start : start + _MARKED_AT_ONCE]))
    with search.database.transaction(workspace_id, "search.compared") as scope:
        collections.compared(scope, model, scope.now)


def mark_pending(scope: Scope, which: sa.ColumnElement[bool]) -> None:
    scope.change(scope.update(search_entries).where(which).values(indexed_at=None))


def _indexed(model: str) -> sa.ColumnElement[bool]:
    return sa.and_(
        search_entries.c.model == model,
        search_entries.c.removed_at.is_(None),
        search_entries.c.indexed_at.is_not(None),
    )


def _count(scope: Scope) -> sa.Select[tuple[int]]:
    return scope.select(sa.func.count(search_entries.c.id))

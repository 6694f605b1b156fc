"""Proof that what was removed is gone."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from core.search import collections
from core.search.index import EntryKey, IndexAwayError
from core.search.parts import SearchParts
from core.search.tables import search_entries


@dataclass(frozen=True)
class LeftBehind:
    """How many of some entries are still somewhere; `in_index` is None when the index could not be asked."""

    texts: int
    in_index: int | None

    @property
    def nothing(self) -> bool:
        return self.texts == 0 and self.in_index == 0


def left_behind(search: SearchParts, workspace_id: str, room: str, entry_ids: Collection[str]) -> LeftBehind:
    """Ask the database for texts and vectors, and the index for vectors, of entries that should be gone."""
    with search.database.reading(workspace_id) as scope:
        rows = scope.rows(
            scope.select(search_entries.c.text, search_entries.c.vector).where(
                search_entries.c.room == room, search_entries.c.id.in_(list(entry_ids))
            )
        )
        names = list(collections.all_of(scope).values())
    keys = [EntryKey(room, entry_id) for entry_id in entry_ids]
    try:
        in_index: int | None = sum(len(search.index.which_of(name, keys)) for name in names)
    except IndexAwayError:
        in_index = None
    return LeftBehind(sum(1 for row in rows if row.text or row.vector), in_index)

"""Searchable entries, put and removed in the same transaction as the thing that they describe."""

from __future__ import annotations

import sqlalchemy as sa

from core.database import Scope
from core.events import Bell, SearchChanged
from core.search import collections
from core.search.tables import search_entries
from core.search.vectors import Vector
from core.search.words import fold_text


def put_entry(scope: Scope, room: str, entry_id: str, scope_name: str, text: str, vector: Vector) -> None:
    """Add an entry or replace its text. Searches find it from the commit on; the index is updated later.

    `vector` is that of the text, made before the transaction. A search must name `scope_name` to find the entry.
    """
    if not (room and entry_id and scope_name and text.strip()):
        raise ValueError("an entry needs a room, an id, a scope and a text")
    values = {
        "scope": scope_name,
        "text": text,
        "folded": fold_text(text),
        "model": vector.model,
        "vector": vector.data,
        "stamp": scope.ids.new("entry"),
        "changed_at": scope.now,
    }
    if not scope.insert_new(search_entries, room=room, id=entry_id, **values):
        scope.change(
            scope.update(search_entries)
            .where(search_entries.c.room == room, search_entries.c.id == entry_id)
            .values(**values, indexed_at=None, removed_at=None)
        )
    _ring(scope, values["stamp"])


def remove_entry(scope: Scope, room: str, entry_id: str) -> bool:
    """Remove an entry, or return False if there is none.

    Its text and vector are deleted now, its row once the index has removed it too.
    """
    if not collections.list_collections(scope):
        # Nothing of this workspace was ever indexed.
        mine = sa.and_(search_entries.c.room == room, search_entries.c.id == entry_id)
        return scope.change(scope.delete(search_entries).where(mine)) == 1
    stamp = scope.ids.new("entry")
    gone = scope.change(
        scope.update(search_entries)
        .where(search_entries.c.room == room, search_entries.c.id == entry_id, search_entries.c.removed_at.is_(None))
        .values(
            text="", folded="", vector=b"", stamp=stamp, changed_at=scope.now, indexed_at=None, removed_at=scope.now
        )
    )
    if gone:
        _ring(scope, stamp)
    return gone == 1


def _ring(scope: Scope, stamp: object) -> None:
    if not any(isinstance(bell.event, SearchChanged) for bell in scope.bells):
        scope.ring(Bell(SearchChanged(workspace_id=scope.workspace_id), id=f"search:{stamp}"))

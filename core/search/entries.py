"""Put and remove searchable entries, inside the transaction that changes the thing itself."""

from __future__ import annotations

import sqlalchemy as sa

from core.database import Scope
from core.events import Bell, SearchChanged
from core.search import collections
from core.search.tables import search_entries
from core.search.vectors import Vector
from core.search.words import fold_text


def put_entry(scope: Scope, room: str, entry_id: str, scope_name: str, text: str, vector: Vector) -> None:
    """Make a text findable, or what stands under its id another one; at once, the index follows.

    `vector` is the text's own, made before the transaction. `scope_name` is what a search must name to find it.
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
    """Take an entry away: its text and vector at once, its row when the index has let it go. False: there is none."""
    if not collections.list_collections(scope):
        # No index ever held anything of this workspace.
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

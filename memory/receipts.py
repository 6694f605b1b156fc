"""Receipts of forgets: what was cleared, and the check that nothing of it is left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from core.database import Database, Scope
from core.errors import NotFoundError
from core.events import Bell, ForgetRequested
from core.search import collections
from core.search.index import EntryKey, IndexAwayError
from core.search.index_sync import sync_index
from core.search.tables import search_entries
from memory.dependencies import MemoryDependencies
from memory.facts import ROOM
from memory.tables import fact_versions, forgets

_LOOK_SECONDS = 10.0


@dataclass(frozen=True)
class Receipt:
    """Receipt of a forget. `state` is `requested`, `cleared` (the database is clean) or `done` (the index is too)."""

    card_id: str
    person_id: str
    fact_ids: tuple[str, ...]
    state: str
    counts: Mapping[str, int]
    checked: Mapping[str, Any] | None
    ring: int
    rung_at: datetime
    requested_at: datetime
    done_at: datetime | None


def get_receipt(scope: Scope, card_id: str) -> Receipt:
    """Return the receipt of a confirmed card; raises NotFoundError."""
    row = scope.first(scope.select(forgets).where(forgets.c.card_id == card_id))
    if row is None:
        raise NotFoundError(
            f"nothing was forgotten on the card {card_id}: it was not confirmed, or asks something else"
        )
    return _receipt_of(row)


def lock_receipt(scope: Scope, card_id: str) -> Receipt:
    """Return the receipt, locked until the transaction ends."""
    scope.first(scope.select(forgets.c.card_id).where(forgets.c.card_id == card_id).with_for_update())
    return get_receipt(scope, card_id)


def record_cleared(scope: Scope, card_id: str, counts: Mapping[str, int]) -> None:
    _update_receipt(scope, card_id, state="cleared", counts=dict(counts))


def check_forgotten(dependencies: MemoryDependencies, workspace_id: str, card_id: str) -> str:
    """Look for remains in the database and the index, and return the state, which is `done` when there are none."""
    with dependencies.database.reading(workspace_id) as scope:
        receipt = get_receipt(scope, card_id)
    if receipt.state != "cleared":
        return receipt.state
    sync_index(dependencies.search, workspace_id, within=_LOOK_SECONDS)
    found = {
        **_remains_in_database(dependencies.database, workspace_id, receipt),
        **_remains_in_index(dependencies, workspace_id, receipt),
    }
    clean = not any(found.values())
    with dependencies.database.transaction(workspace_id, "memory.checked") as scope:
        ends = {"state": "done", "done_at": scope.now} if clean else {}
        _update_receipt(scope, card_id, checked={**found, "at": scope.now.isoformat()}, **ends)
    return "done" if clean else "cleared"


def undone_since(scope: Scope, before: datetime, limit: int = 50) -> list[Receipt]:
    """Return forgets that are not done and were last rung for before `before`."""
    query = scope.select(forgets).where(forgets.c.state != "done", forgets.c.rung_at < before)
    return [_receipt_of(row) for row in scope.rows(query.order_by(forgets.c.rung_at).limit(limit))]


def ring_for_receipt(scope: Scope, receipt: Receipt) -> bool:
    """Ring for a forget under a new id; False when another caller was first."""
    won = scope.change(
        scope.update(forgets)
        .where(forgets.c.card_id == receipt.card_id, forgets.c.ring == receipt.ring, forgets.c.state != "done")
        .values(ring=receipt.ring + 1, rung_at=scope.now)
    )
    if won:
        event = ForgetRequested(workspace_id=scope.workspace_id, card_id=receipt.card_id)
        scope.ring(Bell(event, id=f"{receipt.card_id}:ring-{receipt.ring + 1}"))
    return won == 1


def _remains_in_database(database: Database, workspace_id: str, receipt: Receipt) -> dict[str, int]:
    mine = list(receipt.fact_ids)
    with database.reading(workspace_id) as scope:
        texts = scope.select(sa.func.count(fact_versions.c.n).label("n")).where(
            fact_versions.c.fact_id.in_(mine), fact_versions.c.text.is_not(None)
        )
        left = scope.select(sa.func.count(search_entries.c.id).label("n")).where(
            search_entries.c.room == ROOM, search_entries.c.id.in_(mine)
        )
        return {"texts_left": int(scope.scalar(texts) or 0), "entries_left": int(scope.scalar(left) or 0)}


def _remains_in_index(dependencies: MemoryDependencies, workspace_id: str, receipt: Receipt) -> dict[str, Any]:
    """Look for remains in the index. Without an answer from it `index_away` is true, which keeps the forget undone."""
    mine = [EntryKey(ROOM, fact_id) for fact_id in receipt.fact_ids]
    with dependencies.database.reading(workspace_id) as scope:
        names = list(collections.list_collections(scope).values())
    try:
        left = sum(len(dependencies.search.index.which_of(name, mine)) for name in names)
    except IndexAwayError:
        return {"vectors_left": 0, "index_away": True}
    return {"vectors_left": left, "index_away": False}


def _update_receipt(scope: Scope, card_id: str, **values: Any) -> None:
    scope.change(scope.update(forgets).where(forgets.c.card_id == card_id).values(**values))
    scope.changed("memory", card_id)


def _receipt_of(row: sa.Row[Any]) -> Receipt:
    fields = dict(row._mapping)
    fields.pop("workspace_id")
    fields["fact_ids"] = tuple(fields["fact_ids"])
    return Receipt(**fields)

"""Slots of concurrency limits: who executes, who waits for whom."""

from collections.abc import Sequence

from sqlalchemy import bindparam, delete, func, insert, select, text

from engine.statement import Statement
from engine.tables import slots
from engine.transaction import Transaction

Limit = tuple[str, int]
"""A key and how many items may hold it at once."""

_COUNT = Statement(select(func.count()).where(slots.c.key == bindparam("slot_key")))
_KEYS = Statement(select(slots.c.key).where(slots.c.item_id == bindparam("item")))
_RELEASE = Statement(delete(slots).where(slots.c.item_id == bindparam("item")))
_LOCK = Statement(text("SELECT pg_advisory_xact_lock(hashtext(:slot_key))"))


def acquire(tx: Transaction, item_id: str, limits: Sequence[Limit]) -> str | None:
    """Take one slot of every limit; when one is full, take none and return its key."""
    for key, limit in sorted(limits):
        if tx.connection.dialect.name == "postgresql":
            tx.run(_LOCK, {"slot_key": key})
        if (tx.run(_COUNT, {"slot_key": key}).scalar() or 0) >= limit:
            return key
    for key, _ in limits:
        tx.run(insert(slots), {"key": key, "item_id": item_id})
    return None


def release(tx: Transaction, item_id: str) -> list[str]:
    """Give back what the item holds; returns the keys that have room now."""
    keys = [row.key for row in tx.run(_KEYS, {"item": item_id})]
    if keys:
        tx.run(_RELEASE, {"item": item_id})
    return keys

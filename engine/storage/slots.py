"""Slots of concurrency limits: an item holds one slot of each of its limits while it is carried out."""

from collections.abc import Sequence

from sqlalchemy import bindparam, delete, func, insert, select

from engine.storage.coordination import lock_name
from engine.storage.tables import slots
from engine.storage.transaction import Transaction

Limit = tuple[str, int]
"""The key of a limit and how many items may hold a slot of it at the same time."""

_COUNT = select(func.count()).where(slots.c.key == bindparam("slot_key"))
_KEYS = select(slots.c.key).where(slots.c.item_id == bindparam("item"))
_RELEASE = delete(slots).where(slots.c.item_id == bindparam("item"))


def acquire_slots(tx: Transaction, item_id: str, limits: Sequence[Limit]) -> str | None:
    """Take a slot of every limit; when one is full, take none and return the key of that limit."""
    for key, limit in sorted(limits):
        lock_name(tx, key)
        if (tx.run(_COUNT, {"slot_key": key}).scalar() or 0) >= limit:
            return key
    for key, _ in limits:
        tx.run_once(insert(slots), {"key": key, "item_id": item_id})
    return None


def release_slots(tx: Transaction, item_id: str) -> list[str]:
    """Free all slots of an item and return the keys of their limits."""
    keys = sorted(row.key for row in tx.run(_KEYS, {"item": item_id}))
    for key in keys:
        # Without the lock, another process could find the limit full and park its item just after this one has
        # looked for parked items.
        lock_name(tx, key)
    if keys:
        tx.run_later(_RELEASE, {"item": item_id})
    return keys

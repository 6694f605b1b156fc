"""Ownership of queue items by engine processes: leases, and what happens to the items of a process that is gone."""

from __future__ import annotations

from sqlalchemy import bindparam, delete, select, text, update

from engine.storage.coordination import notify_others
from engine.storage.queue import CLAIMED, PARKED, WAITING
from engine.storage.tables import items, owners, slots
from engine.storage.transaction import Transaction

_RENEW_LEASE = text(
    "INSERT INTO engine_owners (id, lease_until) VALUES (:owner, :lease) "
    "ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until"
)
_FREE_SLOTS = delete(slots).where(
    slots.c.item_id.in_(select(items.c.id).where(items.c.owner == bindparam("gone"), items.c.state == CLAIMED))
)
_FREE_ITEMS = update(items).where(items.c.owner == bindparam("gone")).values(owner=None, state=WAITING)
_DROP_OWNER = delete(owners).where(owners.c.id == bindparam("gone"))
_UNPARK_ALL = update(items).where(items.c.state == PARKED).values(state=WAITING, blocked_on=None)


def take_over_items(tx: Transaction, *, is_sqlite: bool) -> None:
    """Renew this process's lease and free the items of processes that are gone.

    On SQLite every other process is gone, since the file belongs to one process. On PostgreSQL a process is gone when
    its lease has expired.
    """
    tx.run_once(_RENEW_LEASE, {"owner": tx.owner, "lease": tx.now + tx.settings.lease_ms})
    others = select(owners.c.id).where(owners.c.id != tx.owner)
    if not is_sqlite:
        others = others.where(owners.c.lease_until < tx.now)
    for row in tx.run_once(others).all():
        _free_items(tx, row.id)
    if is_sqlite:
        # No other process holds a slot, so all parked items may try again.
        tx.run_once(_UNPARK_ALL)


def hand_back_items(tx: Transaction) -> None:
    """Free the items of this process, so that others can claim them without waiting for its lease to expire."""
    _free_items(tx, tx.owner)


def _free_items(tx: Transaction, owner: str) -> None:
    tx.run_once(_FREE_SLOTS, {"gone": owner})
    tx.run_once(_FREE_ITEMS, {"gone": owner})
    tx.run_once(_DROP_OWNER, {"gone": owner})
    tx.wake_at(tx.now)
    notify_others(tx)

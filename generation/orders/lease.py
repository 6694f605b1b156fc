"""Lease on an order: one execution at a time works on it, under its own token.

An execution that finds a live lease ends with BusyError. One that finds an expired lease takes over with the next
epoch, in a single update, so only one can win. Each write of a holder names its epoch and token.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from core.database import Database, Scope
from core.errors import BusyError, LostError
from generation.orders.order import Order, get_order
from generation.tables import orders


@dataclass(frozen=True)
class OrderLease:
    """Lease of one execution on an order."""

    order_id: str
    epoch: int
    token: str

    def write(self, scope: Scope, **values: Any) -> None:
        """Change the order; raises LostError when this lease is lost."""
        if not self.change(scope, **values):
            raise LostError(f"order {self.order_id} is no longer held at epoch {self.epoch}")

    def change(self, scope: Scope, **values: Any) -> bool:
        """Change the order; False when this lease is lost."""
        update = scope.update(orders).where(
            orders.c.id == self.order_id, orders.c.epoch == self.epoch, orders.c.lease_token == self.token
        )
        return scope.change(update.values(**values)) == 1


def acquire_order_lease(scope: Scope, order: Order, lease_time: timedelta) -> OrderLease:
    """Acquire the lease for one execution; raises BusyError while another one holds it."""
    if order.lease_until is not None and order.lease_until > scope.now:
        raise _busy(order, order.lease_until - scope.now)
    epoch = order.epoch if order.lease_token is None else order.epoch + 1
    token = scope.ids.new("lease")
    same = orders.c.lease_token.is_(None) if order.lease_token is None else orders.c.lease_token == order.lease_token
    won = scope.change(
        scope.update(orders)
        .where(orders.c.id == order.id, orders.c.epoch == order.epoch, same)
        .where(sa.or_(orders.c.lease_until.is_(None), orders.c.lease_until <= scope.now))
        .values(epoch=epoch, lease_token=token, lease_until=scope.now + lease_time)
    )
    if won != 1:
        raise _busy(order, lease_time)
    return OrderLease(order.id, epoch, token)


@contextmanager
def hold_order_lease(
    database: Database, workspace_id: str, order_id: str, lease_time: timedelta
) -> Iterator[tuple[OrderLease, Order]]:
    """Hold the lease on an order during a block, and renew it until the block ends.

    Yields the lease and the order as it was when the lease was acquired.
    """
    with database.transaction(workspace_id, "order.claimed") as scope:
        order = get_order(scope, order_id)
        lease = acquire_order_lease(scope, order, lease_time)
    done = threading.Event()
    keeper = threading.Thread(
        target=_renew_until,
        args=(database, workspace_id, lease, lease_time, done),
        name=f"lease-{order_id}",
        daemon=True,
    )
    keeper.start()
    try:
        yield lease, order
    finally:
        done.set()
        keeper.join()
        with suppress(sa.exc.OperationalError), database.transaction(workspace_id, "order.let_go") as scope:
            lease.change(scope, lease_token=None, lease_until=None)


def _renew_until(
    database: Database, workspace_id: str, lease: OrderLease, lease_time: timedelta, done: threading.Event
) -> None:
    while not done.wait(lease_time.total_seconds() / 3):
        try:
            with database.transaction(workspace_id, "order.renewed") as scope:
                lease.write(scope, lease_until=scope.now + lease_time)
        except LostError:
            return
        except sa.exc.OperationalError:
            # The database does not answer: try again at the next renewal. If the lease expires before that, another
            # execution may take it.
            continue


def _busy(order: Order, wait: timedelta) -> BusyError:
    return BusyError(f"order {order.id} is being worked on at epoch {order.epoch}", max(wait, timedelta(seconds=1)))

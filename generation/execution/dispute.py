"""Disputes about the end of an order: a signed callback that contradicts it makes us ask the provider.

Orders move forward; this is the only way back. A failed or cancelled order becomes `unresolved` when the provider,
once asked, says that it made something after all or is still working. An output is then settled as any late success:
filed and charged, without waking the task. An order has at most one open dispute, and `MOST_DISPUTES` in all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from core.database import Scope
from core.events import Bell, GenerationOrdered
from generation.orders.order import Order
from generation.orders.states import CORRECTABLE_STATES, OrderState
from generation.tables import orders

MOST_DISPUTES = 3


def dispute_end(scope: Scope, order: Order, cause: str, **known: Any) -> bool:
    """Open a dispute: ask the provider once about an order that has ended. `known` are further columns to set.

    False, with nothing changed, when a dispute is open, when there were too many, or when the state has changed.
    """
    won = scope.change(
        scope.update(orders)
        .where(orders.c.id == order.id, orders.c.state == order.state)
        .where(orders.c.doubted_at.is_(None), orders.c.doubts < MOST_DISPUTES)
        .values(doubted_at=scope.now, doubts=orders.c.doubts + 1, lost=0, rung_at=scope.now, **known)
    )
    if won:
        scope.ring(Bell(GenerationOrdered(workspace_id=scope.workspace_id, order_id=order.id), id=cause))
    return won == 1


def close_dispute(scope: Scope, order: Order) -> None:
    """Close the dispute, since the provider has answered; one that was opened meanwhile stays open."""
    if order.doubted_at is not None:
        update = scope.update(orders).where(orders.c.id == order.id, orders.c.doubted_at == order.doubted_at)
        scope.change(update.values(doubted_at=None))


def count_unknown_job(scope: Scope, order: Order, *, last: bool) -> None:
    """Count that the provider did not know the disputed job; `last` closes the dispute."""
    if order.doubted_at is None:
        return
    update = scope.update(orders).where(orders.c.id == order.id, orders.c.doubted_at == order.doubted_at)
    scope.change(update.values(lost=order.lost + 1))
    if last:
        close_dispute(scope, order)


def correct_end(scope: Scope, order: Order, values: Mapping[str, Any]) -> bool:
    """Set an order that ended without its job's outputs to `unresolved`, with what the provider says as `values`.

    `order` is the order as it was read earlier. If it has become unresolved since, only the values are stored. False,
    with nothing changed, when it has any other state now.
    """
    same = sa.and_(orders.c.state == order.state, orders.c.state.in_(CORRECTABLE_STATES))
    update = scope.update(orders).where(orders.c.id == order.id, sa.or_(same, orders.c.state == OrderState.UNRESOLVED))
    won = scope.change(update.values(state=OrderState.UNRESOLVED, **values))
    if won:
        scope.changed("generation", order.id)
    return won == 1

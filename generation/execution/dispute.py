"""Disputes about the end of an order: a signed callback that contradicts it makes us ask the provider.

The states of an order move forward; this is the one way back. A failed or cancelled order becomes `unresolved` when
the provider itself says that it values something after all, or is still at it. What it values is settled as any late
success: filed and charged, without waking the task. An order has one open dispute at a time, and `MOST_DISPUTES` in
its life.
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
    """Have the provider asked once about an order that has ended; `known` is what to note of it besides.

    False, with nothing changed, when a question stands already, when the order was doubted too often, or has moved.
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
    """The provider has said what is true: the doubt that the question began with is gone."""
    if order.doubted_at is not None:
        update = scope.update(orders).where(orders.c.id == order.id, orders.c.doubted_at == order.doubted_at)
        scope.change(update.values(doubted_at=None))


def count_unknown_job(scope: Scope, order: Order, *, last: bool) -> None:
    """The provider knows no such job: the doubt stands until it has said so often enough, which `last` says."""
    if order.doubted_at is None:
        return
    update = scope.update(orders).where(orders.c.id == order.id, orders.c.doubted_at == order.doubted_at)
    scope.change(update.values(lost=order.lost + 1))
    if last:
        close_dispute(scope, order)


def correct_end(scope: Scope, order: Order, values: Mapping[str, Any]) -> bool:
    """Note what the provider has values, or may still make, for an order that has ended without it: it is unresolved.

    False when the order, of which `order` is an earlier look, has moved.
    """
    same = sa.and_(orders.c.state == order.state, orders.c.state.in_(CORRECTABLE_STATES))
    update = scope.update(orders).where(orders.c.id == order.id, sa.or_(same, orders.c.state == OrderState.UNRESOLVED))
    won = scope.change(update.values(state=OrderState.UNRESOLVED, **values))
    if won:
        scope.changed("generation", order.id)
    return won == 1

"""Cancelling: wished for here, decided by the provider where the job has begun."""

from __future__ import annotations

from core.bells import Bell
from core.database import Scope
from core.events import GenerationNews
from generation.finishing import finish
from generation.orders import Order, get
from generation.states import State
from generation.tables import orders


def cancel(scope: Scope, order_id: str) -> Order:
    """Wish for the end of an order. One that was not sent ends now; else the provider is asked, and may be too late.

    An order that has ended stays as it is.
    """
    order = get(scope, order_id)
    if not order.open or order.cancel_requested_at is not None:
        return order
    if order.state is State.ORDERED and finish(scope, order_id, State.CANCELLED, error="cancelled before it was sent"):
        return get(scope, order_id)
    scope.change(
        scope.update(orders)
        .where(orders.c.id == order_id, orders.c.cancel_requested_at.is_(None))
        .values(cancel_requested_at=scope.now, news_at=scope.now)
    )
    scope.changed("generation", order_id)
    scope.ring(Bell(GenerationNews(workspace_id=scope.workspace_id, order_id=order_id), id=f"{order_id}:cancel"))
    return get(scope, order_id)

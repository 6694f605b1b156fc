"""Doubts about an end: a signed word that contradicts it has the provider asked, and a late success comes home.

The states of an order move forward; this is the one way back. What failed or was cancelled becomes `unresolved` when
the provider itself says that it made something after all, or is still at it. What it made is settled as any late
success: filed and charged, waking nobody. One question stands for an order at a time, and an order is doubted `MOST`
times in its life.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from core.bells import Bell
from core.database import Scope
from core.events import GenerationOrdered
from generation.orders import Order
from generation.states import CORRECTED, State
from generation.tables import orders

MOST = 3


def doubt(scope: Scope, order: Order, cause: str, **known: Any) -> bool:
    """Have the provider asked once about an order that has ended; `known` is what to note of it besides.

    False, with nothing changed, when a question stands already, when the order was doubted too often, or has moved.
    """
    won = scope.change(
        scope.update(orders)
        .where(orders.c.id == order.id, orders.c.state == order.state)
        .where(orders.c.doubted_at.is_(None), orders.c.doubts < MOST)
        .values(doubted_at=scope.now, doubts=orders.c.doubts + 1, lost=0, rung_at=scope.now, **known)
    )
    if won:
        scope.ring(Bell(GenerationOrdered(workspace_id=scope.workspace_id, order_id=order.id), id=cause))
    return won == 1


def answer(scope: Scope, order: Order) -> None:
    """The provider has said what is true: the doubt that the question began with is gone."""
    if order.doubted_at is not None:
        asked = scope.update(orders).where(orders.c.id == order.id, orders.c.doubted_at == order.doubted_at)
        scope.change(asked.values(doubted_at=None))


def count_unknown(scope: Scope, order: Order, *, last: bool) -> None:
    """The provider knows no such job: the doubt stands until it has said so often enough, which `last` says."""
    if order.doubted_at is None:
        return
    asked = scope.update(orders).where(orders.c.id == order.id, orders.c.doubted_at == order.doubted_at)
    scope.change(asked.values(lost=order.lost + 1))
    if last:
        answer(scope, order)


def correct(scope: Scope, order: Order, made: Mapping[str, Any]) -> bool:
    """Note what the provider has made, or may still make, for an order that has ended without it: it is unresolved.

    False when the order, of which `order` is an earlier look, has moved.
    """
    same = sa.and_(orders.c.state == order.state, orders.c.state.in_(CORRECTED))
    mine = scope.update(orders).where(orders.c.id == order.id, sa.or_(same, orders.c.state == State.UNRESOLVED))
    won = scope.change(mine.values(state=State.UNRESOLVED, **made))
    if won:
        scope.changed("generation", order.id)
    return won == 1

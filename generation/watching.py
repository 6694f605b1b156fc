"""The watch over orders: whose bell or run was lost is rung for again, and money that nobody needs is freed."""

from __future__ import annotations

from datetime import timedelta

from core.bells import Bell
from core.database import Database, Scope
from core.errors import NotFoundError
from core.events import GenerationOrdered
from generation.orders import Order, get, order_of
from generation.pauses import pause
from generation.states import OPEN, State
from generation.tables import orders
from runtime import credits

LONGEST_QUIET = timedelta(minutes=10)
UNRESOLVED_ASKED_FOR = timedelta(days=7)
BATCH = 200


def pass_over(database: Database, workspace_id: str, first_pause: float, patience: timedelta) -> int:
    """One pass over a workspace; answers how many orders were rung for."""
    with database.transaction(workspace_id, "watch.orders") as scope:
        rung = stuck(scope, first_pause, patience)
        free_dead(scope)
    return rung


def stuck(scope: Scope, first_pause: float, patience: timedelta) -> int:
    """Ring, under a new id, for orders without news for longer than their own pause and `patience`.

    The quiet allowed doubles with each ring, up to ten minutes. Unresolved orders are asked about for a week.
    """
    overdue = [one for one in _untouched(scope, patience) if _is_quiet(scope, one, first_pause, patience)]
    for order in overdue + _unresolved(scope):
        ring_again(scope, order)
    return len(overdue)


def ring_again(scope: Scope, order: Order) -> bool:
    """Ring for an order under an id that was never used; one caller wins."""
    won = scope.change(
        scope.update(orders)
        .where(orders.c.id == order.id, orders.c.ring == order.ring)
        .values(ring=order.ring + 1, rung_at=scope.now)
    )
    if won:
        event = GenerationOrdered(workspace_id=scope.workspace_id, order_id=order.id)
        scope.ring(Bell(event, id=f"{order.id}:ring-{order.ring + 1}"))
    return won == 1


def free_dead(scope: Scope) -> int:
    """Give back what is held for orders that have ended, or are unresolved past their deadline."""
    freed = 0
    for held in credits.held_since(scope, scope.now - timedelta(minutes=1)):
        try:
            order = get(scope, held.order_id)
        except NotFoundError:
            freed += credits.release(scope, held.order_id)
            continue
        if not order.open and (order.state is not State.UNRESOLVED or order.deadline <= scope.now):
            freed += credits.release(scope, held.order_id)
            scope.changed("generation", order.id)
    return freed


def _untouched(scope: Scope, patience: timedelta) -> list[Order]:
    query = scope.select(orders).where(orders.c.state.in_(OPEN), orders.c.news_at <= scope.now - patience)
    return [order_of(row) for row in scope.rows(query.order_by(orders.c.rung_at).limit(BATCH))]


def _is_quiet(scope: Scope, order: Order, first_pause: float, patience: timedelta) -> bool:
    if order.lease_until is not None and order.lease_until > scope.now:
        return False
    untried = order.state is State.ORDERED and order.error is None
    age = scope.now - (order.submitted_at or order.created_at)
    quiet = patience if untried else patience + timedelta(seconds=pause(age, first_pause))
    grown = min(quiet * 2 ** min(order.ring, 10), max(quiet, LONGEST_QUIET))
    return order.news_at <= scope.now - quiet and order.rung_at <= scope.now - (grown if order.ring else quiet)


def _unresolved(scope: Scope) -> list[Order]:
    query = scope.select(orders).where(
        orders.c.state == State.UNRESOLVED,
        orders.c.created_at > scope.now - UNRESOLVED_ASKED_FOR,
        orders.c.rung_at <= scope.now - LONGEST_QUIET,
    )
    found = [order_of(row) for row in scope.rows(query.order_by(orders.c.rung_at).limit(BATCH))]
    return [one for one in found if one.rung_at <= scope.now - LONGEST_QUIET * 2 ** min(one.ring, 7)]

"""The watch over orders: whose bell or run was lost is rung for again, and money that nobody needs is freed."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import sqlalchemy as sa

from core.bells import Bell
from core.database import Database, Scope
from core.events import GenerationOrdered
from generation.orders import Order, order_of
from generation.pauses import pause
from generation.states import OPEN, State
from generation.tables import orders
from runtime import credits
from runtime.tables import reservations
from runtime.watching import repair

LONGEST_QUIET = timedelta(minutes=10)
LONGEST_QUESTION = timedelta(minutes=15)
"""After that nobody waits any more for what a skill asked the model."""
UNRESOLVED_ASKED_FOR = timedelta(days=7)
BATCH = 200


def pass_over(database: Database, workspace_id: str, first_pause: float, patience: timedelta) -> int:
    """One pass over a workspace, a row at a time; answers how many orders were rung for.

    Never raises for a single row's trouble: the next pass finds it again.
    """
    with database.reading(workspace_id) as scope:
        quiet, unresolved, dead = stuck(scope, first_pause, patience), _unresolved(scope), dead_reservations(scope)
    rung = sum(repair(database, workspace_id, partial(_ring, order)) for order in quiet)
    for order in unresolved:
        repair(database, workspace_id, partial(_ring, order))
    for order_id in dead:
        repair(database, workspace_id, partial(_free, order_id))
    return rung


def stuck(scope: Scope, first_pause: float, patience: timedelta) -> list[Order]:
    """Orders without news for longer than their own pause and `patience`; the quiet allowed doubles with each ring."""
    return [one for one in _untouched(scope, patience) if _is_quiet(scope, one, first_pause, patience)]


def _ring(order: Order, scope: Scope) -> bool:
    return ring_again(scope, order)


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


def dead_reservations(scope: Scope, order_id: str | None = None) -> list[str]:
    """Orders for which money is held although they have ended, are unresolved past their deadline, or are gone.

    Of all orders, oldest reservation first, or of the one that is named.
    """
    needed = sa.exists().where(
        orders.c.workspace_id == scope.workspace_id,
        orders.c.id == reservations.c.order_id,
        sa.or_(orders.c.state.in_(OPEN), sa.and_(orders.c.state == State.UNRESOLVED, orders.c.deadline > scope.now)),
    )
    before = scope.now - timedelta(minutes=1)
    query = scope.select(reservations.c.order_id).where(
        reservations.c.state == "held",
        # What a skill asks the model has no order: it is given back once no model can still be answering.
        sa.or_(
            sa.and_(reservations.c.skill_id.is_(None), reservations.c.created_at < before),
            reservations.c.created_at < before - LONGEST_QUESTION,
        ),
        ~needed,
    )
    if order_id is not None:
        query = query.where(reservations.c.order_id == order_id)
    return [row.order_id for row in scope.rows(query.order_by(reservations.c.created_at).limit(BATCH))]


def _free(order_id: str, scope: Scope) -> bool:
    # Asked again here: the order may have come back to life since the pass looked.
    if not dead_reservations(scope, order_id) or not credits.release(scope, order_id):
        return False
    freed = credits.get(scope, order_id)
    if freed is not None and freed.skill_id is None:
        # What a skill asked the model is no order, so there is nothing to look at under its name.
        scope.changed("generation", order_id)
    return True


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
        sa.or_(orders.c.state == State.UNRESOLVED, orders.c.doubted_at.is_not(None)),
        orders.c.created_at > scope.now - UNRESOLVED_ASKED_FOR,
        orders.c.rung_at <= scope.now - LONGEST_QUIET,
    )
    found = [order_of(row) for row in scope.rows(query.order_by(orders.c.rung_at).limit(BATCH))]
    return [one for one in found if one.rung_at <= scope.now - LONGEST_QUIET * 2 ** min(one.ring, 7)]

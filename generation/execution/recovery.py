"""Recovery of orders: ring again for orders whose bell or run was lost, and release reservations no order needs."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import sqlalchemy as sa

from core.database import Database, Scope
from core.events import Bell, GenerationNews, GenerationOrdered
from generation.execution.progress import compute_pause
from generation.orders.order import Order, get_order, order_of
from generation.orders.states import OPEN_ORDER_STATES, OrderState
from generation.tables import orders
from runtime.limits import credits
from runtime.recovery import run_repair
from runtime.tables import reservations

LONGEST_QUIET = timedelta(minutes=10)
"""Limit of the growing time between rings for a stuck order, and the first such time for an unresolved one."""
LONGEST_QUESTION = timedelta(minutes=15)
"""After this time no skill still waits for an answer of the model."""
UNRESOLVED_ASKED_FOR = timedelta(days=7)
"""How long after it was made an order that is unresolved or disputed is still rung for."""
RECOVERY_BATCH = 200


def recover_orders(database: Database, workspace_id: str, first_pause: float, patience: timedelta) -> int:
    """Ring for stuck and unresolved orders, release dead reservations, and return how many stuck orders were rung for.

    Each row has a separate transaction. An error in one does not stop the pass: the next pass finds the row again.
    """
    with database.reading(workspace_id) as scope:
        quiet, unresolved, dead = (
            find_stuck_orders(scope, first_pause, patience),
            _orders_to_ask_about(scope),
            find_dead_reservations(scope),
        )
    rung = sum(run_repair(database, workspace_id, partial(_ring_order, order)) for order in quiet)
    for order in unresolved:
        run_repair(database, workspace_id, partial(_ring_order, order))
    for order_id in dead:
        run_repair(database, workspace_id, partial(_free_reservation, order_id))
    return rung


def find_stuck_orders(scope: Scope, first_pause: float, patience: timedelta) -> list[Order]:
    """Return open orders without news and rings for too long: their pause and `patience`, doubled with each ring."""
    return [one for one in _orders_without_news(scope, patience) if _is_quiet(scope, one, first_pause, patience)]


def _ring_order(order: Order, scope: Scope) -> bool:
    return ring_order_again(scope, order)


def ring_order_again(scope: Scope, order: Order) -> bool:
    """Ring for an order under a new id; False when another caller was first."""
    won = scope.change(
        scope.update(orders)
        .where(orders.c.id == order.id, orders.c.ring == order.ring)
        .values(ring=order.ring + 1, rung_at=scope.now)
    )
    if won:
        event = GenerationOrdered(workspace_id=scope.workspace_id, order_id=order.id)
        scope.ring(Bell(event, id=f"{order.id}:ring-{order.ring + 1}"))
    return won == 1


def find_dead_reservations(scope: Scope, order_id: str | None = None) -> list[str]:
    """Return the ids of orders whose reservation is no longer needed, oldest reservation first.

    These orders have ended, are unresolved past their deadline, or do not exist. With `order_id`, read only that one.
    """
    needed = sa.exists().where(
        orders.c.workspace_id == scope.workspace_id,
        orders.c.id == reservations.c.order_id,
        sa.or_(
            orders.c.state.in_(OPEN_ORDER_STATES),
            sa.and_(orders.c.state == OrderState.UNRESOLVED, orders.c.deadline > scope.now),
        ),
    )
    before = scope.now - timedelta(minutes=1)
    query = scope.select(reservations.c.order_id).where(
        reservations.c.state == "held",
        # A reservation for a skill's model request has no order. It is released once the model can no longer answer.
        sa.or_(
            sa.and_(reservations.c.skill_id.is_(None), reservations.c.created_at < before),
            reservations.c.created_at < before - LONGEST_QUESTION,
        ),
        ~needed,
    )
    if order_id is not None:
        query = query.where(reservations.c.order_id == order_id)
    return [row.order_id for row in scope.rows(query.order_by(reservations.c.created_at).limit(RECOVERY_BATCH))]


def _free_reservation(order_id: str, scope: Scope) -> bool:
    # Check again: a correction may have reopened the order since the pass read it.
    if not find_dead_reservations(scope, order_id) or not credits.release_reservation(scope, order_id):
        return False
    freed = credits.find_reservation(scope, order_id)
    if freed is not None and freed.skill_id is None:
        # A skill's model request is no order, so there is no generation to announce.
        scope.changed("generation", order_id)
    return True


def _orders_without_news(scope: Scope, patience: timedelta) -> list[Order]:
    query = scope.select(orders).where(orders.c.state.in_(OPEN_ORDER_STATES), orders.c.news_at <= scope.now - patience)
    return [order_of(row) for row in scope.rows(query.order_by(orders.c.rung_at).limit(RECOVERY_BATCH))]


def _is_quiet(scope: Scope, order: Order, first_pause: float, patience: timedelta) -> bool:
    """Tell whether no execution holds the order, and both its last news and its last ring are too long ago."""
    if order.lease_until is not None and order.lease_until > scope.now:
        return False
    not_tried_yet = order.state is OrderState.ORDERED and order.error is None
    age = scope.now - (order.submitted_at or order.created_at)
    quiet = patience if not_tried_yet else patience + timedelta(seconds=compute_pause(age, first_pause))
    ring_pause = min(quiet * 2 ** min(order.ring, 10), max(quiet, LONGEST_QUIET))
    return order.news_at <= scope.now - quiet and order.rung_at <= scope.now - (ring_pause if order.ring else quiet)


def _orders_to_ask_about(scope: Scope) -> list[Order]:
    """Return unresolved and disputed orders that were not rung for lately; the time between rings doubles."""
    query = scope.select(orders).where(
        sa.or_(orders.c.state == OrderState.UNRESOLVED, orders.c.doubted_at.is_not(None)),
        orders.c.created_at > scope.now - UNRESOLVED_ASKED_FOR,
        orders.c.rung_at <= scope.now - LONGEST_QUIET,
    )
    found = [order_of(row) for row in scope.rows(query.order_by(orders.c.rung_at).limit(RECOVERY_BATCH))]
    return [one for one in found if one.rung_at <= scope.now - LONGEST_QUIET * 2 ** min(one.ring, 7)]


def ring_if_news(database: Database, workspace_id: str, order_id: str, seen: str, cause: str) -> bool:
    """Ring for a run that waits, when the order has unseen news or outputs to settle, or has ended."""
    with database.transaction(workspace_id, "order.followed") as scope:
        order = get_order(scope, order_id)
        newer = order.news_at.isoformat() != seen or not order.open or order.has_outputs_to_settle
        if newer:
            event = GenerationNews(workspace_id=workspace_id, order_id=order_id)
            scope.ring(Bell(event, id=f"{order_id}:{cause}"))
        return newer


def ring_for_next_run(database: Database, workspace_id: str, order_id: str) -> bool:
    """Ring so that a new run takes over an order that is still open."""
    with database.transaction(workspace_id, "order.handed_over") as scope:
        order = get_order(scope, order_id)
        return order.open and ring_order_again(scope, order)

"""The end of an order: finish it with its money and its task's news in one transaction, or ask to cancel it.

Before an order is sent, cancelling it ends it here. After that the provider decides.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from core.database import Scope
from core.events import Bell, GenerationNews
from generation.orders.billing import compute_bill, describe_claim, describe_contest
from generation.orders.lease import OrderLease
from generation.orders.order import Order, get_order, list_open_order_ids
from generation.orders.states import OrderState, may_become
from generation.tables import orders
from runtime import notices
from runtime.limits import credits
from runtime.loop import order_outcome
from runtime.tasks import tasks

LOG = logging.getLogger(__name__)


def finish_order(
    scope: Scope,
    order_id: str,
    state: OrderState,
    *,
    error: str | None = None,
    claim: str | None = None,
    object_ids: Sequence[str] = (),
    lease: OrderLease | None = None,
    tell: bool = True,
) -> bool:
    """End an order; False, with nothing changed, when it has already ended or `lease` is lost.

    `claim` is what the provider bills (`billing.claim_of`), and `billing.compute_bill` decides what is charged. A
    success is charged; any other end gives the reserved money back, less what is charged. A claim beyond what was
    agreed is stored and contested, and the person gets a notice. An unresolved order keeps its reservation until its
    deadline.

    The task learns only of the first end: a late end of an unresolved order, or any end of a stopped task's order,
    wakes nothing. Without `tell` the caller informs the task.
    """
    order = get_order(scope, order_id)
    if not may_become(order.state, state):
        return False
    if order.task_id is not None:
        # Lock the task's row before the budget's, as an approval does. When two orders end together, the second one to
        # get here also sees that the first has ended.
        tasks.lock_task(scope, order.task_id)
    billed = compute_bill(state, claim, order.agreed)
    if order.charge is not None:
        # The end was corrected, and an order is charged only once: keep the first charge.
        billed = replace(billed, charge=order.charge)
    update = scope.update(orders).where(orders.c.id == order_id, orders.c.state == order.state)
    if lease is not None:
        update = update.where(orders.c.epoch == lease.epoch, orders.c.lease_token == lease.token)
    ended = scope.change(
        update.values(
            state=state,
            error=error,
            claim=claim or order.claim,
            charge=billed.charge,
            contested=billed.contested,
            object_ids=list(object_ids),
            progress=1.0 if state is OrderState.SUCCEEDED else order.progress,
            ended_at=scope.now,
            news_at=scope.now,
            lease_token=None,
            lease_until=None,
        )
    )
    if ended != 1:
        return False
    _move_money(scope, order_id, state, billed.charge, overdue=order.deadline <= scope.now)
    if claim is not None and billed.contested is not None:
        credits.note_contested_bill(scope, order_id, describe_claim(claim))
        text = describe_contest(order.title, order.provider, claim, order.agreed, billed)
        notices.store_notice(scope, "person", text, f"contested:{order_id}", order.task_id)
    scope.changed("generation", order_id)
    if tell and order.open and order.task_id is not None:
        still_open = list_open_order_ids(scope, order.task_id)
        order_outcome.record_order_outcome(
            scope, order.task_id, order_id, still_open, succeeded=state is OrderState.SUCCEEDED
        )
    LOG.info("order ended", extra={"order_id": order_id, "state": state.value})
    return True


def _move_money(scope: Scope, order_id: str, state: OrderState, cost: Decimal | None, *, overdue: bool) -> None:
    if cost is not None and state is not OrderState.UNRESOLVED:
        credits.settle_reservation(scope, order_id, cost)
    elif state is not OrderState.UNRESOLVED or overdue:
        credits.release_reservation(scope, order_id)


def cancel_order(scope: Scope, order_id: str) -> Order:
    """Ask to cancel an order, and return it.

    An order that was not sent ends now. Otherwise the provider is asked, and may be too late. An order that has ended
    stays as it is.
    """
    order = get_order(scope, order_id)
    if not order.open or order.cancel_requested_at is not None:
        return order
    if order.state is OrderState.ORDERED and finish_order(
        scope, order_id, OrderState.CANCELLED, error="cancelled before it was sent"
    ):
        return get_order(scope, order_id)
    scope.change(
        scope.update(orders)
        .where(orders.c.id == order_id, orders.c.cancel_requested_at.is_(None))
        .values(cancel_requested_at=scope.now, news_at=scope.now)
    )
    scope.changed("generation", order_id)
    scope.ring(Bell(GenerationNews(workspace_id=scope.workspace_id, order_id=order_id), id=f"{order_id}:cancel"))
    return get_order(scope, order_id)

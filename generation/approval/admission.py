"""Admission of an order: its row, its reservation and its bell, in one transaction."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

from core.database import Scope
from core.errors import ConflictError
from core.events import Bell, GenerationOrdered
from generation.orders.draft import OrderDraft
from generation.orders.order import Order, find_order_by_key, get_order
from generation.orders.states import OrderState
from generation.tables import orders
from runtime.limits import credits

UNSENT_DEADLINE = timedelta(days=1)
"""Deadline of an order that is not sent yet. Sending it sets the real deadline, counted from that time."""


def admit_order(
    scope: Scope,
    draft: OrderDraft,
    *,
    task_id: str | None,
    turn_id: str,
    card_id: str | None = None,
    unasked: Decimal | None = None,
) -> Order:
    """Turn a draft into an order, once per call. The caller holds the budget's lock and has asked the guard.

    `unasked` limits what an order may be charged when no card was shown for it. Raises
    ConflictError when the call has ordered something else, RefusedError when the balance does not cover the quote.
    """
    order_id = scope.ids.new("order")
    added = scope.insert_new(
        orders,
        id=order_id,
        task_id=task_id,
        turn_id=turn_id,
        call_id=draft.call_id,
        key=draft.call_id,
        digest=draft.digest,
        title=draft.title,
        kind=draft.kind,
        provider=draft.provider,
        model=draft.model,
        params=dict(draft.params),
        inputs=[dict(item) for item in draft.inputs],
        object_id=draft.object_id,
        base_version=draft.base_version,
        state=OrderState.ORDERED,
        progress=0.0,
        quote=draft.quote,
        most=draft.most if unasked is None else max(draft.quote, min(draft.most, unasked)),
        currency=draft.currency,
        outputs=[],
        object_ids=[],
        epoch=1,
        ring=0,
        news_at=scope.now,
        rung_at=scope.now,
        created_at=scope.now,
        deadline=scope.now + UNSENT_DEADLINE,
    )
    if not added:
        return get_admitted_order(scope, draft.call_id, draft.digest)
    credits.reserve_credit(scope, order_id, draft.quote, task_id=task_id, card_id=card_id)
    scope.changed("generation", order_id)
    scope.ring(Bell(GenerationOrdered(workspace_id=scope.workspace_id, order_id=order_id), id=order_id))
    return get_order(scope, order_id)


def get_admitted_order(scope: Scope, call_id: str, digest: str) -> Order:
    """Return the order of a call; raises ConflictError when there is none with this digest."""
    order = find_order_by_key(scope, call_id)
    if order is None or order.digest != digest:
        raise ConflictError(
            f"the call {call_id} has already ordered something else; propose a new call",
            order_id=None if order is None else order.id,
        )
    return order

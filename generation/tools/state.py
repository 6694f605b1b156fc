"""State of orders and money that a model is shown at every step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.database import Scope
from core.errors import NotFoundError
from generation.orders.order import Order, get_order, list_call_orders, list_recent_orders
from generation.orders.states import OrderState
from runtime.limits import credits

SHOWN_ORDERS = 50


def orders_state(scope: Scope, task_id: str | None) -> Mapping[str, Any]:
    """`orders`: the task's newest, oldest first; Main has none."""
    if task_id is None:
        return {"orders": []}
    return {
        "orders": [
            {**_order_fields(order), "call_id": order.call_id}
            for order in list_recent_orders(scope, task_id, SHOWN_ORDERS)
        ]
    }


def budget_state(scope: Scope, task_id: str | None) -> Mapping[str, Any]:
    """`budget`: amounts as decimal strings."""
    del task_id
    budget = credits.read_budget(scope)
    return {
        "budget": {
            "balance": str(budget.balance),
            "free_per_operation": str(budget.free_per_operation),
            "spent_today": str(budget.spent_today),
            "currency": budget.currency,
        }
    }


def outcome_input(scope: Scope, ref_id: str) -> dict[str, Any]:
    """The end of an order, as an input of the task that waited for it."""
    shown = _order_fields(get_order(scope, ref_id))
    work_kind, order_id = shown.pop("kind"), shown.pop("id")
    return {"kind": "outcome", "order_id": order_id, "work_kind": work_kind, **shown}


def orders_of_call(scope: Scope, call_id: str) -> list[dict[str, Any]]:
    """What a call has ordered, and what was ordered in its place at another price."""
    found = list_call_orders(scope, call_id)
    return [{**_order_fields(order), "kind": "order", "work_kind": order.kind} for order in found]


def is_order(scope: Scope, thing_id: str) -> bool:
    """Whether a checklist step may name it as evidence: an order that has succeeded."""
    try:
        return get_order(scope, thing_id).state is OrderState.SUCCEEDED
    except NotFoundError:
        return False


def _order_fields(order: Order) -> dict[str, Any]:
    return {
        "id": order.id,
        "kind": order.kind,
        "title": order.title,
        "state": order.state.value,
        "object_ids": list(order.object_ids),
        "error": order.error,
        **_contested_field(order),
    }


def _contested_field(order: Order) -> dict[str, Any]:
    words = order.contested_in_words
    return {"contested": words} if words else {}

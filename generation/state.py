"""What a model is shown of orders and money at every step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.database import Scope
from core.errors import NotFoundError
from generation.orders import Order, get, of_call, recent_of_task
from generation.states import State
from runtime import credits

SHOWN = 50


def orders_state(scope: Scope, task_id: str | None) -> Mapping[str, Any]:
    """`orders`: the task's newest, oldest first; Main has none."""
    if task_id is None:
        return {"orders": []}
    return {"orders": [{**_shown(order), "call_id": order.call_id} for order in recent_of_task(scope, task_id, SHOWN)]}


def budget_state(scope: Scope, task_id: str | None) -> Mapping[str, Any]:
    """`budget`: amounts as decimal strings."""
    del task_id
    budget = credits.budget(scope)
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
    shown = _shown(get(scope, ref_id))
    work_kind, order_id = shown.pop("kind"), shown.pop("id")
    return {"kind": "outcome", "order_id": order_id, "work_kind": work_kind, **shown}


def orders_of_call(scope: Scope, call_id: str) -> list[dict[str, Any]]:
    """What a call has ordered, and what was ordered in its place at another price."""
    found = of_call(scope, call_id)
    return [{**_shown(order), "kind": "order", "work_kind": order.kind} for order in found]


def is_order(scope: Scope, thing_id: str) -> bool:
    """Whether a checklist step may name it as evidence: an order that has succeeded."""
    try:
        return get(scope, thing_id).state is State.SUCCEEDED
    except NotFoundError:
        return False


def _shown(order: Order) -> dict[str, Any]:
    return {
        "id": order.id,
        "kind": order.kind,
        "title": order.title,
        "state": order.state.value,
        "object_ids": list(order.object_ids),
        "error": order.error,
        **_contested(order),
    }


def _contested(order: Order) -> dict[str, Any]:
    words = order.contested_in_words
    return {"contested": words} if words else {}

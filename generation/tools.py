"""Tools that order generated works, and the state of orders and money that a model is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from core.clock import to_local_minute
from core.database import Scope
from core.errors import NotFoundError, RefusedError
from core.tools import CallContext, Effect, Tool, ToolResult
from generation.approval.place import PlacementDependencies, place_order
from generation.orders.draft import (
    PAID_TOOLS,
    CancelGenerationArguments,
    EstimateArguments,
    ListModelsArguments,
    build_order_request,
)
from generation.orders.end import cancel_order
from generation.orders.order import (
    Order,
    OrderTotal,
    count_recent_orders,
    get_order,
    list_call_orders,
    list_recent_orders,
)
from generation.orders.states import OrderState
from generation.providers.capabilities import Capabilities, ListedOffer, choose_seconds
from runtime.cards.cards import Card
from runtime.limits import credits
from runtime.statuses import CardState

SHOWN_ORDERS = 50


def orders_state(scope: Scope, task_id: str | None) -> Mapping[str, Any]:
    """Return `orders`: the newest of the task, oldest first; for Main, how many each task has in which state."""
    if task_id is None:
        return {"orders": [_total_fields(one) for one in count_recent_orders(scope)]}
    zone = scope.read_time_zone()
    return {
        "orders": [
            {
                **_order_fields(order),
                "call_id": order.call_id,
                "ordered_at": to_local_minute(order.created_at, zone),
                "progress": order.progress,
                "quote": str(order.quote),
                "charge": None if order.charge is None else str(order.charge),
            }
            for order in list_recent_orders(scope, task_id, SHOWN_ORDERS)
        ]
    }


def _total_fields(total: OrderTotal) -> dict[str, Any]:
    return {
        "task_id": total.task_id,
        "state": total.state.value,
        "count": total.count,
        "charged": str(total.charged),
        "currency": total.currency,
    }


def budget_state(scope: Scope, task_id: str | None) -> Mapping[str, Any]:
    """Return `budget`, with amounts as decimal strings."""
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
    """Return an order that has ended as an input of the task that waited for it."""
    shown = _order_fields(get_order(scope, ref_id))
    work_kind, order_id = shown.pop("kind"), shown.pop("id")
    return {"kind": "outcome", "order_id": order_id, "work_kind": work_kind, **shown}


def orders_of_call(scope: Scope, call_id: str) -> list[dict[str, Any]]:
    """Return the order of a call, and those that replaced it at another price."""
    found = list_call_orders(scope, call_id)
    return [{**_order_fields(order), "kind": "order", "work_kind": order.kind} for order in found]


def is_settled_order(scope: Scope, thing_id: str, task_id: str) -> bool:
    """Tell whether this is an order of the task that succeeded, so that its checklist may name it as evidence."""
    try:
        order = get_order(scope, thing_id)
    except NotFoundError:
        return False
    return order.task_id == task_id and order.state is OrderState.SUCCEEDED


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
    text = order.contested_in_words
    return {"contested": text} if text else {}


_DESCRIPTIONS = {
    "generate_image": "Order one picture. It is made elsewhere and arrives later as an outcome. "
    "With object_id it becomes the next version of that picture.",
    "generate_video": "Order one film, from words or from a picture in references. It arrives later as an outcome.",
    "generate_audio": "Order one sound. It arrives later as an outcome.",
    "generate_model3d": "Order one 3D model. It arrives later as an outcome.",
    "enhance": "Order a finer version of a picture. It arrives later as an outcome.",
}
_DOMAINS = {
    "generate_image": "image",
    "generate_video": "video",
    "generate_audio": "audio",
    "generate_model3d": "model3d",
    "enhance": "image",
}


def generation_tools(dependencies: PlacementDependencies) -> tuple[Tool, ...]:
    """Build the tools for tasks; Main gets only `ListModels`."""
    paid = tuple(PlaceOrder(name, arguments, dependencies) for name, arguments in PAID_TOOLS.items())
    return (*paid, Estimate(dependencies.capabilities), CancelGeneration(), ListModels(dependencies.capabilities))


class PlaceOrder:
    """Place an order; the result is the order, or the card that asks a person first."""

    effect = Effect.PAID
    repeatable = True

    def __init__(self, name: str, arguments: type[BaseModel], dependencies: PlacementDependencies) -> None:
        self.name = name
        self.domain = _DOMAINS[name]
        self.description = _DESCRIPTIONS[name]
        self.arguments = arguments
        self._dependencies = dependencies

    def run(self, call: CallContext, arguments: Any) -> ToolResult:
        placed = place_order(self._dependencies, call, build_order_request(self.name, arguments))
        return ToolResult(_order_result(placed) if isinstance(placed, Order) else _card_result(placed))


class Estimate:
    """Price works without ordering them."""

    name = "estimate"
    domain = "image"
    description = "What a number of works of a kind would cost. Nothing is ordered."
    arguments: type[BaseModel] = EstimateArguments
    effect = Effect.READ
    repeatable = True

    def __init__(self, capabilities: Capabilities) -> None:
        self._capabilities = capabilities

    def run(self, call: CallContext, arguments: Any) -> ToolResult:
        offer = self._capabilities.choose_offer(arguments.kind, None).offer
        each = offer.price.of(choose_seconds(offer, arguments.seconds))
        return ToolResult(
            {
                "kind": arguments.kind,
                "model": offer.model,
                "count": arguments.count,
                "each": str(each),
                "amount": str(each * arguments.count),
                "currency": offer.price.currency,
            }
        )


class CancelGeneration:
    """Ask for the cancellation of an order of the same task."""

    name = "cancel_generation"
    domain = "image"
    description = "Cancel an order of this task that has not ended. The provider may be too late."
    arguments: type[BaseModel] = CancelGenerationArguments
    effect = Effect.WRITE
    held_at_checkpoint = False
    repeatable = True

    def run(self, call: CallContext, arguments: Any) -> ToolResult:
        with call.transaction() as scope:
            if get_order(scope, arguments.order_id).task_id != call.task_id:
                raise RefusedError(f"order {arguments.order_id} belongs to another task")
            order = cancel_order(scope, arguments.order_id)
        return ToolResult(
            {
                "order_id": order.id,
                "state": order.state.value,
                "cancel_requested": order.cancel_requested_at is not None,
            }
        )


class ListModels:
    """List the models that can be ordered from now."""

    name = "list_models"
    domain = "core"
    description = "The models that can be ordered from now, with their sizes, lengths and prices."
    arguments: type[BaseModel] = ListModelsArguments
    effect = Effect.READ
    repeatable = True

    def __init__(self, capabilities: Capabilities) -> None:
        self._capabilities = capabilities

    def run(self, call: CallContext, arguments: Any) -> ToolResult:
        return ToolResult({"models": [_offer_result(one) for one in self._capabilities.list_offers(arguments.kind)]})


def _order_result(order: Order) -> dict[str, Any]:
    return {
        "order_id": order.id,
        "quote": {"amount": str(order.quote), "currency": order.currency},
        "state": order.state.value,
    }


def _card_result(card: Card) -> dict[str, Any]:
    """Tell the model of a card: an open one with the amount and the reason it asks for."""
    if card.state != CardState.OPEN:
        return {"card_id": card.id, "state": card.answer_option or card.state}
    return {"card_id": card.id, "state": "waiting_for_approval", "asks": card.title, "reason": card.body}


def _offer_result(listed: ListedOffer) -> dict[str, Any]:
    offer = listed.offer
    return {
        "model": offer.model,
        "title": offer.title,
        "kind": offer.kind,
        "provider": listed.provider,
        "sizes": list(offer.sizes),
        "seconds": list(offer.durations),
        "inputs": [
            {"role": slot.role, "media_types": list(slot.media_types), "max": slot.most} for slot in offer.inputs
        ],
        "price": {"amount": str(offer.price.amount), "currency": offer.price.currency, "per": offer.price.per},
    }

"""Tools to order works, estimate their price, cancel an order and list the models."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from core.errors import RefusedError
from core.tools import CallContext, Effect, Tool, ToolResult
from generation.approval.place import PlacementDependencies, place_order
from generation.orders import request
from generation.orders.end import cancel_order
from generation.orders.order import Order, get_order
from generation.orders.request import PAID_TOOLS, build_order_request
from generation.providers.capabilities import Capabilities, ListedOffer, choose_seconds
from runtime.cards.cards import Card

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


def generation_tools(desk: PlacementDependencies) -> tuple[Tool, ...]:
    """A worker's tools of this room; Main has `ListModels` only."""
    paid = tuple(PlaceOrder(name, arguments, desk) for name, arguments in PAID_TOOLS.items())
    return (*paid, Estimate(desk.capabilities), CancelGeneration(), ListModels(desk.capabilities))


class PlaceOrder:
    """Places an order; the result is the order, or the card that asks a person first."""

    effect = Effect.PAID
    repeatable = True

    def __init__(self, name: str, arguments: type[BaseModel], desk: PlacementDependencies) -> None:
        self.name = name
        self.domain = _DOMAINS[name]
        self.description = _DESCRIPTIONS[name]
        self.arguments = arguments
        self._desk = desk

    def run(self, call: CallContext, arguments: Any) -> ToolResult:
        placed = place_order(self._desk, call, build_order_request(self.name, arguments))
        return ToolResult(_order_result(placed) if isinstance(placed, Order) else _card_result(placed))


class Estimate:
    """Prices without ordering."""

    name = "estimate"
    domain = "image"
    description = "What a number of works of a kind would cost. Nothing is ordered."
    arguments: type[BaseModel] = request.EstimateArguments
    effect = Effect.READ
    repeatable = True

    def __init__(self, capabilities: Capabilities) -> None:
        self._capabilities = capabilities

    def run(self, call: CallContext, arguments: Any) -> ToolResult:
        asked: request.EstimateArguments = arguments
        offer = self._capabilities.choose(asked.kind, None).offer
        each = offer.price.of(choose_seconds(offer, asked.seconds))
        return ToolResult(
            {
                "kind": asked.kind,
                "model": offer.model,
                "count": asked.count,
                "each": str(each),
                "amount": str(each * asked.count),
                "currency": offer.price.currency,
            }
        )


class CancelGeneration:
    """Wishes for the end of an order of the same task."""

    name = "cancel_generation"
    domain = "image"
    description = "Cancel an order of this task that has not ended. The provider may be too late."
    arguments: type[BaseModel] = request.CancelGenerationArguments
    effect = Effect.WRITE
    repeatable = True

    def run(self, call: CallContext, arguments: Any) -> ToolResult:
        asked: request.CancelGenerationArguments = arguments
        with call.transaction() as scope:
            if get_order(scope, asked.order_id).task_id != call.task_id:
                raise RefusedError(f"order {asked.order_id} belongs to another task")
            order = cancel_order(scope, asked.order_id)
        return ToolResult(
            {
                "order_id": order.id,
                "state": order.state.value,
                "cancel_requested": order.cancel_requested_at is not None,
            }
        )


class ListModels:
    """What can be ordered now."""

    name = "list_models"
    domain = "core"
    description = "The models that can be ordered from now, with their sizes, lengths and prices."
    arguments: type[BaseModel] = request.ListModelsArguments
    effect = Effect.READ
    repeatable = True

    def __init__(self, capabilities: Capabilities) -> None:
        self._capabilities = capabilities

    def run(self, call: CallContext, arguments: Any) -> ToolResult:
        asked: request.ListModelsArguments = arguments
        return ToolResult({"models": [_offer_result(one) for one in self._capabilities.listed(asked.kind)]})


def _order_result(order: Order) -> dict[str, Any]:
    return {
        "order_id": order.id,
        "quote": {"amount": str(order.quote), "currency": order.currency},
        "state": order.state.value,
    }


def _card_result(card: Card) -> dict[str, Any]:
    state = "waiting_for_approval" if card.state == "open" else card.answer_option or card.state
    return {"card_id": card.id, "state": state}


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

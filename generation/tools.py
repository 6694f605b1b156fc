"""What a worker can order, ask about and cancel."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from core.errors import RefusedError
from core.tools import CallContext, Effect, Tool, ToolResult
from generation import arguments as said
from generation.cancelling import cancel
from generation.capabilities import Capabilities, Listed, fitting_seconds
from generation.orders import Order, get
from generation.placing import Desk, place
from generation.wishes import PAID, wish_of
from runtime.cards import Card

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


def generation_tools(desk: Desk) -> tuple[Tool, ...]:
    """A worker's tools of this room; Main has `ListModels` only."""
    paid = tuple(PlaceOrder(name, arguments, desk) for name, arguments in PAID.items())
    return (*paid, Estimate(desk.capabilities), CancelGeneration(), ListModels(desk.capabilities))


class PlaceOrder:
    """Places an order; the result is the order, or the card that asks a person first."""

    effect = Effect.PAID
    repeatable = True

    def __init__(self, name: str, arguments: type[BaseModel], desk: Desk) -> None:
        self.name = name
        self.domain = _DOMAINS[name]
        self.description = _DESCRIPTIONS[name]
        self.arguments = arguments
        self._desk = desk

    def run(self, call: CallContext, arguments: Any) -> ToolResult:
        placed = place(self._desk, call, wish_of(self.name, arguments))
        return ToolResult(_ordered(placed) if isinstance(placed, Order) else _asked(placed))


class Estimate:
    """Prices without ordering."""

    name = "estimate"
    domain = "image"
    description = "What a number of works of a kind would cost. Nothing is ordered."
    arguments: type[BaseModel] = said.Estimate
    effect = Effect.READ
    repeatable = True

    def __init__(self, capabilities: Capabilities) -> None:
        self._capabilities = capabilities

    def run(self, call: CallContext, arguments: Any) -> ToolResult:
        asked: said.Estimate = arguments
        offer = self._capabilities.choose(asked.kind, None).offer
        each = offer.price.of(fitting_seconds(offer, asked.seconds))
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
    arguments: type[BaseModel] = said.CancelGeneration
    effect = Effect.WRITE
    repeatable = True

    def run(self, call: CallContext, arguments: Any) -> ToolResult:
        asked: said.CancelGeneration = arguments
        with call.transaction() as scope:
            if get(scope, asked.order_id).task_id != call.task_id:
                raise RefusedError(f"order {asked.order_id} belongs to another task")
            order = cancel(scope, asked.order_id)
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
    arguments: type[BaseModel] = said.ListModels
    effect = Effect.READ
    repeatable = True

    def __init__(self, capabilities: Capabilities) -> None:
        self._capabilities = capabilities

    def run(self, call: CallContext, arguments: Any) -> ToolResult:
        asked: said.ListModels = arguments
        return ToolResult({"models": [_shown(one) for one in self._capabilities.listed(asked.kind)]})


def _ordered(order: Order) -> dict[str, Any]:
    return {
        "order_id": order.id,
        "quote": {"amount": str(order.quote), "currency": order.currency},
        "state": order.state.value,
    }


def _asked(card: Card) -> dict[str, Any]:
    state = "waiting_for_approval" if card.state == "open" else card.answer_option or card.state
    return {"card_id": card.id, "state": state}


def _shown(listed: Listed) -> dict[str, Any]:
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

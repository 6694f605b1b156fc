"""Drafts of orders: a request checked against the offers and priced, ready to be admitted or shown on a card."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from core.database import Scope
from core.errors import InvalidError
from generation.dependencies import OrderWork, OrderWorks
from generation.orders.billing import max_charge
from generation.orders.request import OrderRequest
from generation.providers.capabilities import Capabilities, check_inputs, choose_seconds, choose_size
from generation.providers.port import Offer


@dataclass(frozen=True)
class OrderDraft:
    """All that an order will hold; `digest` is the wish's. It goes onto a card and comes back as JSON.

    `most` is the most that it may be charged, whatever is billed for it.
    """

    call_id: str
    digest: str
    title: str
    kind: str
    provider: str
    model: str
    params: Mapping[str, Any]
    inputs: tuple[Mapping[str, Any], ...]
    object_id: str | None
    base_version: int | None
    quote: Decimal
    most: Decimal
    currency: str

    def stored(self) -> dict[str, Any]:
        return {
            **vars(self),
            "params": dict(self.params),
            "inputs": [dict(item) for item in self.inputs],
            "quote": str(self.quote),
            "most": str(self.most),
        }

    @staticmethod
    def of(stored: Mapping[str, Any]) -> OrderDraft:
        amounts = {name: Decimal(stored[name]) for name in ("quote", "most")}
        return OrderDraft(**{**stored, "inputs": tuple(stored["inputs"]), **amounts})

    def line(self) -> dict[str, Any]:
        """How a card shows it, from stored facts."""
        shown = {"call_id": self.call_id, "title": self.title, "kind": self.kind, "model": self.model}
        details = {name: self.params[name] for name in ("size", "seconds") if name in self.params}
        return {**shown, **details, "amount": str(self.quote), "most": str(self.most), "currency": self.currency}


@dataclass(frozen=True)
class OrderSources:
    """The works that a wish names, as they stand: the one to make a next version of, and the references."""

    target: OrderWork | None
    references: tuple[OrderWork, ...]


def read_sources(scope: Scope, works: OrderWorks, wish: OrderRequest, task_id: str | None) -> OrderSources:
    """Raises ConflictError when a work has moved since the task saw it, NotFoundError when it is not there."""
    target = None if wish.object_id is None else works.check_current(scope, wish.object_id, task_id)
    return OrderSources(target, tuple(works.check_current(scope, name, task_id) for name in wish.references))


def draft_order(
    call_id: str, wish: OrderRequest, sources: OrderSources, capabilities: Capabilities, overrun: Decimal
) -> OrderDraft:
    """Check and price a wish; raises InvalidError that says what could be asked for instead.

    `overrun` is how many times its quote an order may be charged at most.
    """
    digest = wish.digest()
    wish = _completed(wish, sources.target)
    listed = capabilities.choose(wish.kind, wish.model)
    offer = listed.offer
    inputs = _inputs(offer, sources)
    check_inputs(offer, [(item["role"], item["media_type"]) for item in inputs])
    seconds = choose_seconds(offer, wish.seconds)
    # A work that is made from a picture follows its shape, unless a size is asked for.
    size = None if wish.size is None and inputs else choose_size(offer, wish.size)
    params = {
        "prompt": wish.prompt,
        "size": size,
        "seconds": seconds,
        "style": wish.style,
        "operation": wish.operation,
    }
    quote = offer.price.of(seconds)
    return OrderDraft(
        call_id=call_id,
        digest=digest,
        title=wish.title,
        kind=wish.kind,
        provider=listed.provider,
        model=offer.model,
        params={name: value for name, value in params.items() if value not in (None, "")},
        inputs=inputs,
        object_id=wish.object_id,
        base_version=None if sources.target is None else sources.target.version,
        quote=quote,
        most=max_charge(quote, overrun),
        currency=offer.price.currency,
    )


def _completed(wish: OrderRequest, target: OrderWork | None) -> OrderRequest:
    if target is None:
        return wish
    if wish.operation == "enhance" and target.kind != "image":
        raise InvalidError(f"only pictures can be enhanced; {target.id} is of kind {target.kind}")
    wish = replace(wish, kind=wish.kind or target.kind, title=wish.title or target.title)
    if target.kind != wish.kind:
        raise InvalidError(
            f"{target.id} is of kind {target.kind}, so {wish.kind} cannot be its next version; "
            "leave object_id out and name it in references"
        )
    return wish


def _inputs(offer: Offer, sources: OrderSources) -> tuple[Mapping[str, Any], ...]:
    takes = {slot.role for slot in offer.inputs}
    found = [_input("reference", work) for work in sources.references]
    if sources.target is not None and "source" in takes:
        found.insert(0, _input("source", sources.target))
    return tuple(found)


def _input(role: str, work: OrderWork) -> dict[str, Any]:
    return {
        "role": role,
        "object_id": work.id,
        "version": work.version,
        "sha256": work.sha256,
        "media_type": work.media_type,
    }

"""Requests and drafts of orders: the request as the model words it, and the priced draft that becomes an order."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from core.database import Scope
from core.errors import InvalidError
from generation.dependencies import OrderWork, OrderWorks
from generation.orders.billing import max_charge
from generation.providers.capabilities import Capabilities, check_inputs, choose_seconds, choose_size
from generation.providers.port import Offer

WorkKind = Literal["image", "video", "audio", "model3d"]
Prompt = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=20_000)]
Title = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Id = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=64)]
Seconds = Annotated[int, Field(ge=1, le=3600)]
References = Annotated[tuple[Id, ...], Field(max_length=8)]


class GenerationArguments(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class GenerateImageArguments(GenerationArguments):
    prompt: Prompt = Field(description="what the picture shows, with every word that must be legible in it")
    title: Title = Field(description="the name of the work")
    size: Name | None = Field(None, description="WIDTHxHEIGHT, one of the sizes that list_models shows")
    style: Name | None = None
    object_id: Id | None = Field(None, description="make the next version of this picture instead of a new work")
    references: References = Field((), description="works to work from")
    model: Name | None = None


class GenerateVideoArguments(GenerationArguments):
    prompt: Prompt
    title: Title
    seconds: Seconds = Field(description="one of the lengths that list_models shows")
    references: References = Field((), description="works to work from, such as the picture to set in motion")
    object_id: Id | None = Field(None, description="make the next version of this film instead of a new work")
    model: Name | None = None


class GenerateAudioArguments(GenerationArguments):
    prompt: Prompt
    title: Title
    seconds: Seconds


class GenerateModel3dArguments(GenerationArguments):
    prompt: Prompt
    title: Title


class EnhanceArguments(GenerationArguments):
    object_id: Id = Field(description="the picture to make a finer version of")


class EstimateArguments(GenerationArguments):
    kind: WorkKind
    seconds: Seconds | None = None
    count: Annotated[int, Field(ge=1, le=100)] = 1


class CancelGenerationArguments(GenerationArguments):
    order_id: Id


class ListModelsArguments(GenerationArguments):
    kind: WorkKind | None = None


@dataclass(frozen=True)
class OrderRequest:
    """What a call asks for.

    `object_id` is the work to make the next version of; where `kind` and `title` are empty, they are taken from it.
    """

    kind: str
    title: str
    prompt: str
    size: str | None = None
    style: str | None = None
    seconds: int | None = None
    model: str | None = None
    object_id: str | None = None
    references: tuple[str, ...] = ()
    operation: str | None = None

    def digest(self) -> str:
        """Return a digest that is equal for equal requests; it tells a repeated call from a reused key."""
        return digest_of(asdict(self))


def digest_of(value: object) -> str:
    """Return the SHA-256 of a JSON value, independent of the order of its keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


PAID_TOOLS: dict[str, type[GenerationArguments]] = {
    "generate_image": GenerateImageArguments,
    "generate_video": GenerateVideoArguments,
    "generate_audio": GenerateAudioArguments,
    "generate_model3d": GenerateModel3dArguments,
    "enhance": EnhanceArguments,
}
_KINDS = {
    "generate_image": "image",
    "generate_video": "video",
    "generate_audio": "audio",
    "generate_model3d": "model3d",
}


def build_order_request(tool: str, arguments: GenerationArguments) -> OrderRequest:
    """Build the request of a call of a paid tool."""
    fields: dict[str, Any] = arguments.model_dump()
    if tool == "enhance":
        return OrderRequest(kind="", title="", prompt="", operation="enhance", object_id=fields["object_id"])
    return OrderRequest(kind=_KINDS[tool], **fields)


def parse_recorded_request(tool: str, text: str) -> OrderRequest | None:
    """Parse the request of a recorded call; None when its tool is not a paid one or its arguments are invalid."""
    shape = PAID_TOOLS.get(tool)
    if shape is None:
        return None
    try:
        return build_order_request(tool, shape.model_validate_json(text))
    except ValidationError:
        return None


@dataclass(frozen=True)
class OrderDraft:
    """A checked and priced request: all that the order will hold. A card stores it as JSON.

    `digest` is that of the request; `most` is the most that may be charged, whatever is billed.
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

    def to_stored(self) -> dict[str, Any]:
        """Return the draft as JSON for a card."""
        return {
            **vars(self),
            "params": dict(self.params),
            "inputs": [dict(item) for item in self.inputs],
            "quote": str(self.quote),
            "most": str(self.most),
        }

    @staticmethod
    def from_stored(stored: Mapping[str, Any]) -> OrderDraft:
        """Read a draft that `to_stored` has written."""
        amounts = {name: Decimal(stored[name]) for name in ("quote", "most")}
        return OrderDraft(**{**stored, "inputs": tuple(stored["inputs"]), **amounts})

    def card_line(self) -> dict[str, Any]:
        """Return the draft as a line of a card's quote."""
        shown = {"call_id": self.call_id, "title": self.title, "kind": self.kind, "model": self.model}
        details = {name: self.params[name] for name in ("size", "seconds") if name in self.params}
        return {**shown, **details, "amount": str(self.quote), "most": str(self.most), "currency": self.currency}


@dataclass(frozen=True)
class OrderSources:
    """The current works that a request names: the one to make the next version of, and the references."""

    target: OrderWork | None
    references: tuple[OrderWork, ...]


def read_sources(scope: Scope, works: OrderWorks, request: OrderRequest, task_id: str | None) -> OrderSources:
    """Read the works that a request names.

    Raises ConflictError when one has changed since the task saw it, NotFoundError when one does not exist.
    """
    target = None if request.object_id is None else works.check_current(scope, request.object_id, task_id)
    return OrderSources(target, tuple(works.check_current(scope, name, task_id) for name in request.references))


def draft_order(
    call_id: str, request: OrderRequest, sources: OrderSources, capabilities: Capabilities, overrun: Decimal
) -> OrderDraft:
    """Check and price a request; raises InvalidError that says what to ask for instead.

    An order may be charged at most `overrun` times its quote.
    """
    digest = request.digest()
    request = _complete_from_target(request, sources.target)
    listed = capabilities.choose_offer(request.kind, request.model)
    offer = listed.offer
    inputs = _build_inputs(offer, sources)
    check_inputs(offer, [(item["role"], item["media_type"]) for item in inputs])
    seconds = choose_seconds(offer, request.seconds)
    # A work made from a picture has the shape of that picture, unless a size is asked for.
    size = None if request.size is None and inputs else choose_size(offer, request.size)
    params = {
        "prompt": request.prompt,
        "size": size,
        "seconds": seconds,
        "style": request.style,
        "operation": request.operation,
    }
    quote = offer.price.of(seconds)
    return OrderDraft(
        call_id=call_id,
        digest=digest,
        title=request.title,
        kind=request.kind,
        provider=listed.provider,
        model=offer.model,
        params={name: value for name, value in params.items() if value not in (None, "")},
        inputs=inputs,
        object_id=request.object_id,
        base_version=None if sources.target is None else sources.target.version,
        quote=quote,
        most=max_charge(quote, overrun),
        currency=offer.price.currency,
    )


def _complete_from_target(request: OrderRequest, target: OrderWork | None) -> OrderRequest:
    if target is None:
        return request
    if request.operation == "enhance" and target.kind != "image":
        raise InvalidError(f"only pictures can be enhanced; {target.id} is of kind {target.kind}")
    request = replace(request, kind=request.kind or target.kind, title=request.title or target.title)
    if target.kind != request.kind:
        raise InvalidError(
            f"{target.id} is of kind {target.kind}, so {request.kind} cannot be its next version; "
            "leave object_id out and name it in references"
        )
    return request


def _build_inputs(offer: Offer, sources: OrderSources) -> tuple[Mapping[str, Any], ...]:
    # A model that takes no source makes the next version from the prompt alone.
    accepted_roles = {slot.role for slot in offer.inputs}
    found = [_build_input("reference", work) for work in sources.references]
    if sources.target is not None and "source" in accepted_roles:
        found.insert(0, _build_input("source", sources.target))
    return tuple(found)


def _build_input(role: str, work: OrderWork) -> dict[str, Any]:
    return {
        "role": role,
        "object_id": work.id,
        "version": work.version,
        "sha256": work.sha256,
        "media_type": work.media_type,
    }

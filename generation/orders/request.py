"""Requests of paid calls: the arguments of the generation tools, and what they ask for, not yet checked or priced."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

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
    """`object_id` is the work to make a next version of; `kind` and `title` are empty where that work decides."""

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
        """The same for the same wish: tells a repeated call from a reused key."""
        return digest_of(asdict(self))


def digest_of(value: object) -> str:
    """SHA-256 of a JSON value, whatever the order of its keys."""
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
    """What a call of a paid tool asks for."""
    said: dict[str, Any] = arguments.model_dump()
    if tool == "enhance":
        return OrderRequest(kind="", title="", prompt="", operation="enhance", object_id=said["object_id"])
    return OrderRequest(kind=_KINDS[tool], **said)


def parse_recorded_request(tool: str, text: str) -> OrderRequest | None:
    """What a recorded call asks for; None when it is no paid tool of ours or its arguments are no use."""
    shape = PAID_TOOLS.get(tool)
    if shape is None:
        return None
    try:
        return build_order_request(tool, shape.model_validate_json(text))
    except ValidationError:
        return None

"""A wish: what a paid call asks for, before anybody has checked or priced it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

from pydantic import ValidationError

from generation.arguments import Arguments, Enhance, GenerateAudio, GenerateImage, GenerateModel3d, GenerateVideo


@dataclass(frozen=True)
class Wish:
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


PAID: dict[str, type[Arguments]] = {
    "generate_image": GenerateImage,
    "generate_video": GenerateVideo,
    "generate_audio": GenerateAudio,
    "generate_model3d": GenerateModel3d,
    "enhance": Enhance,
}
_KINDS = {
    "generate_image": "image",
    "generate_video": "video",
    "generate_audio": "audio",
    "generate_model3d": "model3d",
}


def wish_of(tool: str, arguments: Arguments) -> Wish:
    """What a call of a paid tool asks for."""
    said: dict[str, Any] = arguments.model_dump()
    if tool == "enhance":
        return Wish(kind="", title="", prompt="", operation="enhance", object_id=said["object_id"])
    return Wish(kind=_KINDS[tool], **said)


def wish_in(tool: str, text: str) -> Wish | None:
    """What a recorded call asks for; None when it is no paid tool of ours or its arguments are no use."""
    shape = PAID.get(tool)
    if shape is None:
        return None
    try:
        return wish_of(tool, shape.model_validate_json(text))
    except ValidationError:
        return None

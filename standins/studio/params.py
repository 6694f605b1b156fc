"""Parameters of each kind of job. Unknown names are refused, so that a misspelt wish is not silently ignored."""

import re
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator

Kind = Literal["image", "video", "audio", "model3d"]
Text = Annotated[str, StringConstraints(strip_whitespace=True, max_length=20_000)]
Words = Annotated[str, StringConstraints(strip_whitespace=True, max_length=200)]
Seed = Annotated[int, Field(ge=0, le=2**53)]

IMAGE_SIZES = ("1024x1536", "1024x1024", "1536x1024", "1080x1350", "1080x1920", "1920x1080")
VIDEO_SIZES = ("1280x720", "720x1280", "720x1080", "1080x720", "720x720")
VIDEO_SECONDS = (3, 5, 8, 10)
AUDIO_SECONDS = (3, 5, 10, 30, 60)
ASPECTS = {
    "2:3": (1024, 1536), "3:2": (1536, 1024), "1:1": (1024, 1024), "4:5": (1080, 1350),
    "9:16": (1080, 1920), "16:9": (1920, 1080), "3:4": (1080, 1440), "4:3": (1440, 1080),
}  # fmt: skip


def size_of(text: str, smallest: int, largest: int) -> tuple[int, int]:
    """Width and height of `WIDTHxHEIGHT`. ValueError when it is not that or a side is out of bounds."""
    match = re.fullmatch(r"(\d{2,5})[x×](\d{2,5})", text)
    if match is None:
        raise ValueError("write it as WIDTHxHEIGHT, for example 1024x1536")
    width, height = int(match[1]), int(match[2])
    if not (smallest <= width <= largest and smallest <= height <= largest):
        raise ValueError(f"each side must be between {smallest} and {largest} pixels")
    return width, height


class Params(BaseModel):
    """Parameters of every kind. Another `seed` makes another work of the same words."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompt: Text = ""
    style: Words | None = None
    palette: Words | list[Words] | None = None
    seed: Seed | None = None

    def palette_words(self) -> str:
        """The palette as one text of colour names and #rrggbb."""
        if self.palette is None:
            return ""
        return self.palette if isinstance(self.palette, str) else ", ".join(self.palette)


class ImageParams(Params):
    """A poster; or, from a source picture, the same picture recoloured or enlarged.

    `size` wins over `aspect`. `variation` chooses the composition: 0, 1, 2, … differ. `warmth` runs from -1 (cooler) to
    1 (warmer). `operation` is read off the prompt when it is left out.
    """

    size: Words | None = None
    aspect: Words | None = None
    title: Words | None = None
    subtitle: Words | None = None
    variation: Annotated[int, Field(ge=0, le=10_000)] | None = None
    warmth: Annotated[float, Field(ge=-1, le=1)] | None = None
    operation: Literal["create", "recolour", "enhance"] | None = None

    @field_validator("size")
    @classmethod
    def _size(cls, value: str | None) -> str | None:
        if value is not None:
            size_of(value, 256, 2160)
        return value

    @field_validator("aspect")
    @classmethod
    def _aspect(cls, value: str | None) -> str | None:
        if value is not None and value not in ASPECTS:
            raise ValueError(f"must be one of {', '.join(ASPECTS)}; for another shape give size as WIDTHxHEIGHT")
        return value

    def dimensions(self) -> tuple[int, int]:
        """Width and height in pixels."""
        if self.size is not None:
            return size_of(self.size, 256, 2160)
        return ASPECTS[self.aspect or "2:3"]


class VideoParams(Params):
    """A film of whole seconds; with a picture given, a slow move over it. `size` follows the picture when it is left
    out."""

    seconds: Annotated[int, Field(ge=1, le=10)] = 5
    size: Words | None = None
    fps: Annotated[int, Field(ge=12, le=30)] = 24
    title: Words | None = None

    @field_validator("size")
    @classmethod
    def _size(cls, value: str | None) -> str | None:
        if value is not None and any(side % 2 for side in size_of(value, 128, 1920)):
            raise ValueError("both sides must be even numbers")
        return value

    def dimensions(self) -> tuple[int, int] | None:
        """Width and height in pixels, or None when the picture decides."""
        return None if self.size is None else size_of(self.size, 128, 1920)


class AudioParams(Params):
    """A stereo WAV of whole seconds."""

    seconds: Annotated[int, Field(ge=1, le=60)] = 10


class FormParams(Params):
    """A GLB model with vertex colours."""


PARAMS: dict[str, type[Params]] = {
    "image": ImageParams,
    "video": VideoParams,
    "audio": AudioParams,
    "model3d": FormParams,
}

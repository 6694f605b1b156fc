"""What the model says when it calls a generation tool."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Kind = Literal["image", "video", "audio", "model3d"]
Prompt = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=20_000)]
Title = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Id = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=64)]
Seconds = Annotated[int, Field(ge=1, le=3600)]
References = Annotated[tuple[Id, ...], Field(max_length=8)]


class Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class GenerateImage(Arguments):
    prompt: Prompt = Field(description="what the picture shows, with every word that must be legible in it")
    title: Title = Field(description="the name of the work")
    size: Name | None = Field(None, description="WIDTHxHEIGHT, one of the sizes that list_models shows")
    style: Name | None = None
    object_id: Id | None = Field(None, description="make the next version of this picture instead of a new work")
    references: References = Field((), description="works to work from")
    model: Name | None = None


class GenerateVideo(Arguments):
    prompt: Prompt
    title: Title
    seconds: Seconds = Field(description="one of the lengths that list_models shows")
    references: References = Field((), description="works to work from, such as the picture to set in motion")
    object_id: Id | None = Field(None, description="make the next version of this film instead of a new work")
    model: Name | None = None


class GenerateAudio(Arguments):
    prompt: Prompt
    title: Title
    seconds: Seconds


class GenerateModel3d(Arguments):
    prompt: Prompt
    title: Title


class Enhance(Arguments):
    object_id: Id = Field(description="the picture to make a finer version of")


class Estimate(Arguments):
    kind: Kind
    seconds: Seconds | None = None
    count: Annotated[int, Field(ge=1, le=100)] = 1


class CancelGeneration(Arguments):
    order_id: Id


class ListModels(Arguments):
    kind: Kind | None = None

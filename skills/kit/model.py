"""Ask the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast, overload

from pydantic import BaseModel, ValidationError

from skills.kit.door import door
from skills.kit.errors import Unavailable

Shape = TypeVar("Shape", bound=BaseModel)


@overload
def llm(
    prompt: str,
    *,
    name: str = "answer",
    schema: None = None,
    facts: Mapping[str, Any] | None = None,
    max_tokens: int = 1000,
) -> str: ...


@overload
def llm(
    prompt: str,
    *,
    name: str = "answer",
    schema: type[Shape],
    facts: Mapping[str, Any] | None = None,
    max_tokens: int = 1000,
) -> Shape: ...


@overload
def llm(
    prompt: str,
    *,
    name: str = "answer",
    schema: Mapping[str, Any],
    facts: Mapping[str, Any] | None = None,
    max_tokens: int = 1000,
) -> dict[str, Any]: ...


def llm(
    prompt: str,
    *,
    name: str = "answer",
    schema: type[BaseModel] | Mapping[str, Any] | None = None,
    facts: Mapping[str, Any] | None = None,
    max_tokens: int = 1000,
) -> str | BaseModel | dict[str, Any]:
    """Ask the model; return its text, or with `schema` a value of that shape.

        class Health(BaseModel):
            state: Literal["normal", "degraded", "critical"]
            why: str

        health = ctx.step.run("assess", lambda: llm("How do these services do?", name="health", schema=Health,
                                                    facts={"services": metrics}).model_dump())

    `schema` is a pydantic class or a JSON schema of an object; `name` says in a word or two what is asked for; `facts`
    is the data that the question is about, never instructions. A step stores JSON only, so return `.model_dump()`.

    Each answer costs money, which counts against `model_budget_per_day` of the manifest and the workspace's limits. If
    a limit does not cover the question, a person is asked to raise it, and LimitReached (a kind of Unavailable) has the
    step retried later; if they decline, Refused is raised. The same question in the same run is asked once. Raises
    Unavailable if the model does not answer and Refused if its answer is unusable: have a fallback for both.
    """
    shape = schema.model_json_schema() if isinstance(schema, type) else schema
    body = {"prompt": prompt, "name": name, "schema": shape, "facts": facts, "max_tokens": max_tokens}
    said = door.ask("llm", "/llm", body)
    if schema is None:
        return str(said["text"])
    if not isinstance(schema, type):
        return cast(dict[str, Any], said["value"])
    try:
        return schema.model_validate(said["value"])
    except ValidationError as error:
        # A JSON schema cannot say all that a class can check.
        raise Unavailable(f"llm: the model's `{name}` does not fit: {error.errors()[0]['msg']}") from None

"""The model port: one decision for a turn, or one verdict that follows a schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel

Message = Mapping[str, Any]
"""One message in Chat Completions form: `role`, `content`, and `tool_calls` or `tool_call_id` where they belong."""

Verdict = TypeVar("Verdict", bound=BaseModel)


@dataclass(frozen=True)
class ToolSpec:
    """A tool as the model is shown it; `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class ProposedCall:
    """A call the model asks for. `arguments` is its text as it came: it may be no JSON at all."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class Usage:
    """Tokens of one request."""

    tokens: int = 0
    cached_tokens: int = 0


@dataclass(frozen=True)
class Decision:
    """What the model said and which calls it proposes. `cut` tells that the answer stopped at a length limit."""

    text: str
    calls: tuple[ProposedCall, ...]
    model: str
    usage: Usage
    cut: bool = False
    refused: bool = False


class Model(Protocol):
    """Raises UnavailableError when it may be asked again, ModelError when asking again is no use."""

    def get_ready(self) -> None:
        """Load what the first question would have to wait for; asks nothing."""
        ...

    def decide(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Decision: ...

    def verdict(self, name: str, shape: type[Verdict], messages: Sequence[Message]) -> Verdict: ...

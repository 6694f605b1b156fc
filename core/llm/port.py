"""The port to the language model: one decision for a turn, or one verdict that follows a schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel

from core.errors import ModelError

ChatMessage = Mapping[str, Any]
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
class TokenUsage:
    """Tokens of one request, or of several: `tokens` is all of them; all are zero where the server does not say."""

    tokens: int = 0
    cached_tokens: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: TokenUsage) -> TokenUsage:
        return TokenUsage(
            self.tokens + other.tokens,
            self.cached_tokens + other.cached_tokens,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
        )


@dataclass(frozen=True)
class Decision:
    """What the model said and which calls it proposes. `cut` tells that the answer stopped at a length limit."""

    text: str
    calls: tuple[ProposedCall, ...]
    model: str
    usage: TokenUsage
    cut: bool = False
    refused: bool = False


@dataclass(frozen=True)
class Completion:
    """An answer to one question. `value` is the object in it where a schema was asked for; `usage` counts every try."""

    text: str
    value: Mapping[str, Any] | None
    usage: TokenUsage
    model: str


class SpentModelError(ModelError):
    """It answered, which costs, and said nothing usable."""

    def __init__(self, message: str, usage: TokenUsage) -> None:
        super().__init__(message)
        self.usage = usage


class Model(Protocol):
    """Raises UnavailableError when it may be asked again, ModelError when asking again is no use."""

    def get_ready(self) -> None:
        """Load what the first question would have to wait for; asks nothing."""
        ...

    def decide(self, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec]) -> Decision: ...

    def verdict(self, name: str, shape: type[Verdict], messages: Sequence[ChatMessage]) -> Verdict: ...

    def complete(
        self, name: str, schema: Mapping[str, Any] | None, messages: Sequence[ChatMessage], max_tokens: int
    ) -> Completion:
        """Text, or an object that fits a JSON schema of an object; each try answers `max_tokens` at most.

        Raises SpentModelError, which says what was spent, when the answers were of no use.
        """
        ...

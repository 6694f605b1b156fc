"""The port to the language model: decisions with tools, verdicts with a fixed shape, and completions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel

from core.errors import ModelError

ChatMessage = Mapping[str, Any]
"""A message in Chat Completions form: `role`, `content`, and `tool_calls` or `tool_call_id` if it has them."""

Verdict = TypeVar("Verdict", bound=BaseModel)


@dataclass(frozen=True)
class ToolSpec:
    """The description of a tool for the model; `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class ProposedCall:
    """A call that the model proposes. `arguments` is the text as it came, which may not be JSON."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class TokenUsage:
    """Tokens of one or several requests; `tokens` is the total. All are zero when the server does not report them."""

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
    """The model's text and the calls that it proposes.

    `cut`: the answer ended at a length limit. `refused`: the model or a filter declined to answer.
    """

    text: str
    calls: tuple[ProposedCall, ...]
    model: str
    usage: TokenUsage
    cut: bool = False
    refused: bool = False


@dataclass(frozen=True)
class Completion:
    """The answer to one question; `value` is its object if a schema was given, `usage` counts all attempts."""

    text: str
    value: Mapping[str, Any] | None
    usage: TokenUsage
    model: str


class SpentModelError(ModelError):
    """The model answered, which costs money, but not usably."""

    def __init__(self, message: str, usage: TokenUsage) -> None:
        super().__init__(message)
        self.usage = usage


class Model(Protocol):
    """A language model. Its methods raise UnavailableError when a retry may help, ModelError when it cannot."""

    def get_ready(self) -> None:
        """Load what the first request would have to wait for; sends nothing."""
        ...

    def decide(self, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec]) -> Decision:
        """Return the model's text and the calls that it proposes."""
        ...

    def verdict(self, name: str, shape: type[Verdict], messages: Sequence[ChatMessage]) -> Verdict:
        """Return an answer of the given shape, after one repair round if it does not fit at first."""
        ...

    def complete(
        self, name: str, schema: Mapping[str, Any] | None, messages: Sequence[ChatMessage], max_tokens: int
    ) -> Completion:
        """Return text, or an object that fits a JSON schema; each attempt has `max_tokens` at most.

        Raises SpentModelError, with the tokens that were spent, when the answers cannot be used.
        """
        ...

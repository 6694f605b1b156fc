"""A scripted model for tests; unexpected requests and unused answers are errors."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from core.errors import LoopwrightError
from core.llm.port import ChatMessage, Completion, Decision, ProposedCall, TokenUsage, ToolSpec, Verdict


class UnexpectedRequestError(AssertionError):
    """There were more requests than the script has answers."""


def says(text: str, *calls: tuple[str, str]) -> Decision:
    """Make a decision with this text and these calls, each `(tool, arguments as JSON text)`."""
    proposed = tuple(ProposedCall(f"scripted_{n}", name, arguments) for n, (name, arguments) in enumerate(calls))
    return Decision(text=text, calls=proposed, model="scripted", usage=TokenUsage(tokens=len(text)))


class ScriptedModel:
    """Gives the answers of the script in order and raises its errors; `requests` records what was asked."""

    def __init__(self, *script: Decision | LoopwrightError, verdicts: Sequence[dict[str, Any]] = ()) -> None:
        self._script = list(script)
        self._verdicts = list(verdicts)
        self._lock = threading.Lock()
        self.requests: list[tuple[Sequence[ChatMessage], Sequence[ToolSpec]]] = []

    def get_ready(self) -> None:
        """Do nothing; it is always ready."""

    def decide(self, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec]) -> Decision:
        with self._lock:
            self.requests.append((messages, tools))
            if not self._script:
                raise UnexpectedRequestError(f"request {len(self.requests)} was not foreseen: {messages[-1]}")
            answer = self._script.pop(0)
        if isinstance(answer, LoopwrightError):
            raise answer
        return answer

    def verdict(self, name: str, shape: type[Verdict], messages: Sequence[ChatMessage]) -> Verdict:
        with self._lock:
            self.requests.append((messages, ()))
            if not self._verdicts:
                raise UnexpectedRequestError(f"the verdict {name} was not foreseen")
            return shape.model_validate(self._verdicts.pop(0))

    def complete(
        self, name: str, schema: Mapping[str, Any] | None, messages: Sequence[ChatMessage], max_tokens: int
    ) -> Completion:
        """Return the text of the next decision, or with a schema the next verdict."""
        del max_tokens
        if schema is None:
            answer = self.decide(messages, ())
            return Completion(answer.text, None, answer.usage, answer.model)
        with self._lock:
            self.requests.append((messages, ()))
            if not self._verdicts:
                raise UnexpectedRequestError(f"the answer {name} was not foreseen")
            value = self._verdicts.pop(0)
        return Completion(json.dumps(value), value, TokenUsage(), "scripted")

    def assert_spent(self) -> None:
        """Raise AssertionError when answers are left over."""
        left = len(self._script) + len(self._verdicts)
        if left:
            raise AssertionError(f"{left} scripted answers were never asked for")

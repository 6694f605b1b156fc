"""The messages of a request, checked as strictly as the strictest providers check them, and read as events."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from standins.model.problems import ModelProblem

MOST_CHARACTERS = 2_000_000


@dataclass(frozen=True)
class WorkerInput:
    """An input of the worker: a message, an outcome, an answer or a changed object."""

    kind: str
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class ModelText:
    """Text that the model wrote."""

    text: str


@dataclass(frozen=True)
class ModelCall:
    """A call the model made, with its result (None while it has none)."""

    name: str
    arguments: Mapping[str, Any]
    result: Any

    @property
    def failed(self) -> bool:
        """Whether the call had no effect: it failed or was called off."""
        if not isinstance(self.result, dict):
            return False
        called_off = self.result.get("status") in {"cancelled", "failed"} and "call_id" in self.result
        return bool(self.result.get("error")) or self.result.get("ok") is False or called_off

    @property
    def unclear(self) -> bool:
        """Whether it is unknown what the call did."""
        return isinstance(self.result, dict) and self.result.get("status") == "outcome_unknown"


StoryEvent = WorkerInput | ModelText | ModelCall


@dataclass(frozen=True)
class Conversation:
    """The events of a request, oldest first; `state` and `facts` are the newest ones, empty if there are none.

    `shortened` says that the beginning is missing.
    """

    events: Sequence[StoryEvent]
    state: Mapping[str, Any]
    facts: Mapping[str, Any]
    system: str
    shortened: bool


def check_messages(messages: object) -> list[Mapping[str, Any]]:
    """Return the messages if a provider would accept them. Raise ModelProblem 400 that names the wrong one."""
    if not isinstance(messages, list) or not messages:
        raise _wrong("messages must be a list that is not empty")
    awaited: list[str] = []
    size = 0
    for n, message in enumerate(messages):
        if not isinstance(message, dict) or message.get("role") not in {
            "system",
            "developer",
            "user",
            "assistant",
            "tool",
        }:
            raise _wrong(f"messages[{n}] has no known role")
        size += len(str(message.get("content") or ""))
        if message["role"] == "tool":
            if not awaited or message.get("tool_call_id") != awaited.pop(0):
                raise _wrong(f"messages[{n}] answers a call that was not made, or out of order")
            continue
        if awaited:
            raise _wrong(f"messages[{n}] comes before the result of the call {awaited[0]}")
        if message["role"] == "assistant":
            awaited = [_call_id(call, n) for call in message.get("tool_calls") or []]
    if awaited:
        raise _wrong(f"the call {awaited[0]} has no result")
    if size > MOST_CHARACTERS:
        raise ModelProblem(400, "context_length_exceeded", f"the messages are longer than {MOST_CHARACTERS} characters")
    return messages


def read_conversation(messages: Sequence[Mapping[str, Any]]) -> Conversation:
    """Turn checked messages into the events of a conversation."""
    events: list[StoryEvent] = []
    state: Mapping[str, Any] = {}
    facts: Mapping[str, Any] = {}
    asked = [text_of(message) for message in messages if message["role"] == "user"]
    framed = any("<state>" in text or "<facts>" in text for text in asked)
    results = {m["tool_call_id"]: _loads(text_of(m)) for m in messages if m["role"] == "tool"}
    for message in messages:
        text = text_of(message)
        if message["role"] == "user":
            state = _block(text, "state") or state
            facts = _block(text, "facts") or facts
            events.extend(_inputs(text, framed))
        elif message["role"] == "assistant":
            if text:
                events.append(ModelText(text))
            events.extend(_calls_of(message, results))
    system = "\n".join(text_of(m) for m in messages if m["role"] in {"system", "developer"})
    shortened = any(text.startswith("[") and "left out" in text for text in asked)
    return Conversation(events, state, facts, system, shortened)


def text_of(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _calls_of(message: Mapping[str, Any], results: Mapping[str, Any]) -> Iterator[ModelCall]:
    for call in message.get("tool_calls") or []:
        function = call["function"]
        yield ModelCall(str(function.get("name")), json.loads(function["arguments"]), results.get(call["id"]))


def _inputs(text: str, framed: bool) -> Iterator[WorkerInput]:
    listed = _block(text, "input")
    if isinstance(listed, list):
        for item in listed:
            if isinstance(item, dict):
                yield WorkerInput(str(item.get("kind")), item)
    elif not framed and text.strip():
        # A client other than the product sends its text without tags.
        yield WorkerInput("message", {"kind": "message", "text": text})


def _block(text: str, tag: str) -> Any:
    """Return the JSON between `<tag>` and `</tag>`; None if the tag is missing or its text is not JSON."""
    _, opened, rest = text.partition(f"<{tag}>")
    if tag == "state":
        # Inputs follow the state and may quote its closing tag, so the first one that begins a line ends it.
        inside, closed, _ = rest.partition(f"\n</{tag}>")
    else:
        inside, closed, _ = rest.rpartition(f"</{tag}>")
    return _loads(inside) if opened and closed else None


def _call_id(call: object, n: int) -> str:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(call, dict) or not isinstance(function, dict) or not isinstance(call.get("id"), str):
        raise _wrong(f"messages[{n}] has a call without an id or a function")
    arguments = _loads(function.get("arguments"))
    if not isinstance(arguments, dict):
        raise _wrong(f"messages[{n}]: the arguments of {call['id']} are no JSON object")
    return str(call["id"])


def _loads(text: object) -> Any:
    try:
        return json.loads(text) if isinstance(text, str) else None
    except ValueError:
        return None


def _wrong(detail: str) -> ModelProblem:
    return ModelProblem(400, "invalid_messages", detail)

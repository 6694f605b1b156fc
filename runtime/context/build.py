"""The whole request for one decision: stable prefix, history, fresh state, and the inputs of this step."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from pydantic import BaseModel

from core.database import Scope
from core.llm.port import ChatMessage, ToolSpec
from core.tools import Tool
from runtime import messages, tasks
from runtime.context import history, inputs, rules, shortening, state, window
from runtime.inbox import Item
from runtime.parts import RuntimeParts
from runtime.tasks import Task
from runtime.turns import ledger
from runtime.turns.rows import Turn

LONGEST_OF_THREAD = 4_000
"""Characters of an earlier message that Main is shown again."""


@dataclass(frozen=True)
class Request:
    """`layers` holds a digest of each layer as it was sent, so that a lost cache can be explained."""

    messages: Sequence[ChatMessage]
    tools: Sequence[ToolSpec]
    layers: Mapping[str, str]


def request(scope: Scope, turn: Turn, items: Sequence[Item], parts: RuntimeParts, task: Task | None = None) -> Request:
    """The request for the next step of a turn, which reads `items`; `task` is the turn's, where it has been read."""
    if turn.task_id is None:
        return _for_main(scope, turn, parts)
    return _for_task(scope, turn, task or tasks.get(scope, turn.task_id), items, parts)


def _for_task(scope: Scope, turn: Turn, task: Task, items: Sequence[Item], parts: RuntimeParts) -> Request:
    past = history.of_task(scope, turn, task.id, parts.inputs, parts.memory)
    tail = _state(state.of_task(scope, task, parts.state_sources))
    if items:
        tail += "\n" + inputs.frame(inputs.render(scope, items, parts.inputs))
    return _request(rules.WORKER, past.messages, past.digest, tail, parts.tools_for(task.id))


def _for_main(scope: Scope, turn: Turn, parts: RuntimeParts) -> Request:
    """Main sees the last words of its thread; the message it answers is the step's input."""
    asked = messages.get(scope, turn.message_id or "")
    past: list[ChatMessage] = []
    for message in messages.of_main(scope, asked.person_id):
        if (message.created_at, message.id) >= (asked.created_at, asked.id):
            continue
        if message.author == "agent":
            words = shortening.words(message.text, message.id, LONGEST_OF_THREAD)
            past.append({"role": "assistant", "content": words})
        else:
            past.append({"role": "user", "content": inputs.frame([inputs.of_message(message, LONGEST_OF_THREAD)])})
    taken = ledger.steps_of(scope, [turn.id])
    entry = inputs.frame([inputs.of_message(asked)])
    if taken:
        past.append({"role": "user", "content": entry})
        made = ledger.calls_of(scope, [turn.id])
        told = [history.step_messages(step, [call for call in made if call.step == step.n]) for step in taken]
        first = window.first_that_fits([len(inputs.dump(one)) for one in told], 0)
        past += [message for one in told[first:] for message in one]
    tail = _state(state.of_main(scope, asked.language or "en", parts.state_sources))
    if not taken:
        tail += "\n" + entry
    return _request(rules.MAIN, past, _digest(inputs.dump(past)), tail, parts.tools_for(None))


def _state(facts: Mapping[str, object]) -> str:
    return f"<state>\n{inputs.dump(facts)}\n</state>"


@dataclass(frozen=True)
class _Offer:
    """A tool as the model is shown it; `text` is the same as JSON."""

    spec: ToolSpec
    text: str


@cache
def _offer(name: str, description: str, arguments: type[BaseModel]) -> _Offer:
    schema = arguments.model_json_schema()
    spec = ToolSpec(name, description, {key: schema[key] for key in schema if key not in ("title", "description")})
    return _Offer(spec, inputs.dump([spec.name, spec.description, spec.parameters]))


def _request(
    prefix: str, past: Sequence[ChatMessage], past_digest: str, tail: str, tools: Mapping[str, Tool]
) -> Request:
    offers = [_offer(tool.name, tool.description, tool.arguments) for tool in tools.values()]
    layers = {
        "prefix": _digest(prefix, *(offer.text for offer in offers)),
        "history": past_digest,
        "tail": _digest(tail),
    }
    system: ChatMessage = {"role": "system", "content": prefix}
    specs = [offer.spec for offer in offers]
    return Request([system, *past, {"role": "user", "content": tail}], specs, layers)


def _digest(*texts: str) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]

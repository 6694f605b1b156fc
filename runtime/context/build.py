"""The whole request for one decision: stable prefix, history, fresh state, and the inputs of this step."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.database import Scope
from core.model import Message, ToolSpec
from core.tools import Tool
from runtime import messages, tasks
from runtime.context import history, rules, state
from runtime.inbox import Item
from runtime.parts import RuntimeParts
from runtime.turns import ledger
from runtime.turns.rows import Turn


@dataclass(frozen=True)
class Request:
    """`layers` holds a digest of each layer as it was sent, so that a lost cache can be explained."""

    messages: Sequence[Message]
    tools: Sequence[ToolSpec]
    layers: Mapping[str, str]


def for_task(scope: Scope, turn: Turn, items: Sequence[Item], parts: RuntimeParts) -> Request:
    task_id = turn.task_id or ""
    task = tasks.get(scope, task_id)
    past = history.of_task(scope, task_id, parts.inputs)
    tail = f"<state>\n{history.dump(state.of_task(scope, task, parts.state_sources))}\n</state>"
    if items:
        tail += "\n" + history.input_message(history.render(scope, items, parts.inputs))
    return _request(rules.WORKER, past, tail, parts.tools_for(task_id))


def for_main(scope: Scope, turn: Turn, parts: RuntimeParts) -> Request:
    """Main sees the last words of its thread; the message it answers is the step's input."""
    asked = messages.get(scope, turn.message_id or "")
    past: list[Message] = []
    for message in messages.of_main(scope, asked.person_id):
        if message.id == asked.id or message.created_at > asked.created_at:
            continue
        if message.author == "agent":
            past.append({"role": "assistant", "content": message.text})
        else:
            past.append({"role": "user", "content": history.input_message([history.message_input(scope, message.id)])})
    taken = ledger.steps_of(scope, [turn.id])
    entry = history.input_message([history.message_input(scope, asked.id)])
    if taken:
        past.append({"role": "user", "content": entry})
        for step in taken:
            past += history.step_messages(step, ledger.calls_of_step(scope, turn.id, step.n))
    tail = f"<state>\n{history.dump(state.of_main(scope, asked.language or 'en', parts.state_sources))}\n</state>"
    if not taken:
        tail += "\n" + entry
    return _request(rules.MAIN, past, tail, parts.tools_for(None))


def spec_of(tool: Tool) -> ToolSpec:
    schema = tool.arguments.model_json_schema()
    schema.pop("title", None)
    schema.pop("description", None)
    return ToolSpec(tool.name, tool.description, schema)


def _request(prefix: str, past: Sequence[Message], tail: str, tools: Mapping[str, Tool]) -> Request:
    specs = [spec_of(tool) for tool in tools.values()]
    layers = {
        "prefix": _digest([prefix, [(s.name, s.description, s.parameters) for s in specs]]),
        "history": _digest(list(past)),
        "tail": _digest(tail),
    }
    system: Message = {"role": "system", "content": prefix}
    return Request([system, *past, {"role": "user", "content": tail}], specs, layers)


def _digest(value: object) -> str:
    return hashlib.sha256(history.dump(value).encode()).hexdigest()[:16]

"""Request for one decision: a stable prefix, the history, the current state, and the inputs of this step."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from pydantic import BaseModel

from core.database import Scope
from core.llm.port import ChatMessage, ToolSpec
from core.tools import Tool
from runtime.context import history, size, state, system_prompt
from runtime.dependencies import RuntimeDependencies
from runtime.inbox import messages
from runtime.inbox.inbox import InboxItem
from runtime.tasks import tasks
from runtime.tasks.tasks import Task
from runtime.turns import ledger_queries
from runtime.turns.rows import Turn

LONGEST_OF_THREAD = 4_000
"""Characters that Main is shown of an earlier message."""


@dataclass(frozen=True)
class DecisionRequest:
    """A request to the model; `layers` holds a digest of each layer, to explain why a prompt cache was missed."""

    messages: Sequence[ChatMessage]
    tools: Sequence[ToolSpec]
    layers: Mapping[str, str]


def build_request(
    scope: Scope, turn: Turn, items: Sequence[InboxItem], dependencies: RuntimeDependencies, task: Task | None = None
) -> DecisionRequest:
    """Build the request for the next step of a turn, which reads `items`; pass `task` if it has been read already."""
    if turn.task_id is None:
        return _request_for_main(scope, turn, dependencies)
    return _request_for_task(scope, turn, task or tasks.get_task(scope, turn.task_id), items, dependencies)


def _request_for_task(
    scope: Scope, turn: Turn, task: Task, items: Sequence[InboxItem], dependencies: RuntimeDependencies
) -> DecisionRequest:
    past = history.render_history(scope, turn, task.id, dependencies.inputs, dependencies.history_cache)
    tail = _frame_state(state.task_state(scope, task, dependencies.state_sources))
    if items:
        tail += "\n" + state.frame_inputs(state.render_inputs(scope, items, dependencies.inputs))
    tail += f"\n{system_prompt.TASK_REQUEST}"
    return _assemble(system_prompt.TASK_PROMPT, past.messages, past.digest, tail, dependencies.tools_for(task.id))


def _request_for_main(scope: Scope, turn: Turn, dependencies: RuntimeDependencies) -> DecisionRequest:
    """Build Main's request: the newest messages of its thread, with the message to answer as the step's input."""
    question = messages.get_message(scope, turn.message_id or "")
    past: list[ChatMessage] = []
    for message in messages.list_main_messages(scope, question.person_id):
        if (message.created_at, message.id) >= (question.created_at, question.id):
            continue
        if message.author == "agent":
            text = size.shorten_text(message.text, message.id, LONGEST_OF_THREAD)
            past.append({"role": "assistant", "content": text})
        else:
            past.append(
                {
                    "role": "user",
                    "content": state.frame_inputs(
                        [state.render_message(scope, message, dependencies.inputs, LONGEST_OF_THREAD)]
                    ),
                }
            )
    steps = ledger_queries.list_steps(scope, [turn.id])
    entry = state.frame_inputs([state.render_message(scope, question, dependencies.inputs)])
    if steps:
        past.append({"role": "user", "content": entry})
        calls = ledger_queries.list_calls(scope, [turn.id])
        rendered = [history.render_step(step, [call for call in calls if call.step == step.n]) for step in steps]
        first = size.first_step_that_fits([len(state.dump_json(one)) for one in rendered], 0)
        past += [message for one in rendered[first:] for message in one]
    tail = _frame_state(state.main_state(scope, question.language or "en", dependencies.state_sources))
    if not steps:
        tail += "\n" + entry
    tail += f"\n{system_prompt.MAIN_REQUEST}"
    return _assemble(
        system_prompt.MAIN_PROMPT, past, _digest(state.dump_json(past)), tail, dependencies.tools_for(None)
    )


def _frame_state(facts: Mapping[str, object]) -> str:
    return f"<state>\n{state.dump_json(facts)}\n</state>"


@dataclass(frozen=True)
class _ToolOffer:
    """A tool as the model is shown it; `text` is the same as JSON."""

    spec: ToolSpec
    text: str


@cache
def _tool_offer(name: str, description: str, arguments: type[BaseModel]) -> _ToolOffer:
    schema = arguments.model_json_schema()
    spec = ToolSpec(name, description, {key: schema[key] for key in schema if key not in ("title", "description")})
    return _ToolOffer(spec, state.dump_json([spec.name, spec.description, spec.parameters]))


def _assemble(
    prefix: str, past: Sequence[ChatMessage], past_digest: str, tail: str, tools: Mapping[str, Tool]
) -> DecisionRequest:
    offers = [_tool_offer(tool.name, tool.description, tool.arguments) for tool in tools.values()]
    layers = {
        "prefix": _digest(prefix, *(offer.text for offer in offers)),
        "history": past_digest,
        "tail": _digest(tail),
    }
    system: ChatMessage = {"role": "system", "content": prefix}
    specs = [offer.spec for offer in offers]
    return DecisionRequest([system, *past, {"role": "user", "content": tail}], specs, layers)


def _digest(*texts: str) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]

"""What was said and done, in the order in which it was read, as Chat Completions messages."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from core.database import Scope
from core.model import Message
from runtime import cards, inbox, messages
from runtime.inbox import Item
from runtime.parts import InputSource
from runtime.turns import ledger, rows
from runtime.turns.ledger import Call, Step

LONGEST_INPUT = 20_000
MOST_STEPS = 40


def dump(value: object) -> str:
    """JSON with the same bytes for the same value."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def input_message(entries: Sequence[Mapping[str, Any]]) -> str:
    return f"<input>\n{dump(list(entries))}\n</input>"


def shortened(text: str, ref: str) -> str:
    """A long text's beginning, with the way to read the rest."""
    if len(text) <= LONGEST_INPUT:
        return text
    return f"{text[:LONGEST_INPUT]}\n[{len(text):,} characters in all; read on with read_back, ref {ref}]"


def message_input(scope: Scope, message_id: str) -> Mapping[str, Any]:
    message = messages.get(scope, message_id)
    return {
        "kind": "message",
        "id": message.id,
        "text": shortened(message.text, message.id),
        "attachments": list(message.attachments),
    }


def answer_input(scope: Scope, card_id: str) -> Mapping[str, Any]:
    card = cards.get(scope, card_id)
    return {
        "kind": "answer",
        "card_id": card.id,
        "card_kind": card.kind,
        "title": card.title,
        "option": card.answer_option,
        "text": card.answer_text or "",
    }


def render(scope: Scope, items: Sequence[Item], inputs: Mapping[str, InputSource]) -> list[Mapping[str, Any]]:
    """Inputs as the model reads them."""
    known: Mapping[str, InputSource] = {"message": message_input, "answer": answer_input, **inputs}
    return [known[item.kind](scope, item.ref_id) for item in items]


def of_task(scope: Scope, task_id: str, inputs: Mapping[str, InputSource]) -> list[Message]:
    """The task's last steps. Inputs stand before the step that read them, each call has exactly one result."""
    turn_ids = [turn.id for turn in rows.of_task(scope, task_id)]
    read: dict[tuple[str, int], list[Item]] = defaultdict(list)
    for turn_id in turn_ids:
        for item in inbox.read_by(scope, turn_id):
            read[(turn_id, item.step or 0)].append(item)
    made: dict[tuple[str, int], list[Call]] = defaultdict(list)
    for call in ledger.calls_of(scope, turn_ids):
        made[(call.turn_id, call.step)].append(call)
    taken = ledger.steps_of(scope, turn_ids)
    history: list[Message] = []
    if len(taken) > MOST_STEPS:
        history.append({"role": "user", "content": f"[{len(taken) - MOST_STEPS} earlier steps are left out here]"})
    for step in taken[-MOST_STEPS:]:
        key = (step.turn_id, step.n)
        if read[key]:
            history.append({"role": "user", "content": input_message(render(scope, read[key], inputs))})
        history += step_messages(step, made[key])
    return history


def step_messages(step: Step, made: Sequence[Call]) -> list[Message]:
    """One decision with the results of its calls, in the order of the calls."""
    if not made:
        return [{"role": "assistant", "content": step.text}] if step.text else []
    proposed = [
        {
            "id": provider_id(call),
            "type": "function",
            "function": {"name": call.tool, "arguments": _sendable(call.arguments)},
        }
        for call in made
    ]
    assistant: Message = {"role": "assistant", "content": step.text or None, "tool_calls": proposed}
    results = [{"role": "tool", "tool_call_id": provider_id(call), "content": dump(result_of(call))} for call in made]
    return [assistant, *results]


def provider_id(call: Call) -> str:
    """The call's id towards the provider: short, and the same at every request."""
    return f"call_{call.turn_id[-10:]}_{call.step}_{call.seq}"


def result_of(call: Call) -> Mapping[str, Any]:
    """What the model is told of a call; one that ended without a result says so."""
    if call.result is not None:
        return call.result if call.ok else {"error": True, **call.result}
    if call.status == "outcome_unknown":
        return {"status": "outcome_unknown", "call_id": call.id}
    return {"status": "cancelled" if call.status in ("cancelled", "proposed") else call.status, "call_id": call.id}


def _sendable(arguments: str) -> str:
    # A provider refuses every later request while broken arguments stand in the history.
    try:
        return arguments if isinstance(json.loads(arguments), dict) else "{}"
    except ValueError:
        return "{}"

"""What was said and done, in the order in which it was read, as Chat Completions messages."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from core.database import Scope
from core.model import Message
from runtime import inbox
from runtime.context import shortening, window
from runtime.context.inputs import dump, frame, read_messages, render
from runtime.inbox import Item
from runtime.parts import InputSource
from runtime.turns import ledger
from runtime.turns.ledger import Call, Step

MOST_RESULTS = 60_000
"""Characters of all the results of one step."""
MOST_ARGUMENTS = 40_000
LONGEST_ARGUMENTS = 10_000


def of_task(scope: Scope, task_id: str, inputs: Mapping[str, InputSource]) -> list[Message]:
    """The task's last steps. Inputs stand before the step that read them, each call has exactly one result.

    It grows at its end only, until it is too long: then a block of its oldest steps goes at once.
    """
    total = ledger.count_steps_of_task(scope, task_id)
    first = window.first_of(total)
    taken = ledger.newest_steps_of_task(scope, task_id, total - first)
    turn_ids = list(dict.fromkeys(step.turn_id for step in taken))
    items = inbox.read_by_turns(scope, turn_ids)
    said = read_messages(scope, items)
    read: dict[tuple[str, int], list[Item]] = defaultdict(list)
    for item in items:
        read[(item.turn_id or "", item.step or 0)].append(item)
    made: dict[tuple[str, int], list[Call]] = defaultdict(list)
    for call in ledger.calls_of(scope, turn_ids):
        made[(call.turn_id, call.step)].append(call)
    told: list[list[Message]] = []
    for step in taken:
        key = (step.turn_id, step.n)
        entry = [_user(frame(render(scope, read[key], inputs, said)))] if read[key] else []
        told.append([*entry, *step_messages(step, made[key])])
    left_out = window.first_that_fits([len(dump(one)) for one in told], first)
    note = [_user(f"[{left_out} earlier steps are left out here]")] if left_out else []
    return [*note, *(message for one in told[left_out - first :] for message in one)]


def step_messages(step: Step, made: Sequence[Call]) -> list[Message]:
    """One decision with the results of its calls, in the order of the calls."""
    if not made:
        return [{"role": "assistant", "content": step.text}] if step.text else []
    most_arguments = shortening.share(MOST_ARGUMENTS, len(made), LONGEST_ARGUMENTS)
    most_result = shortening.share(MOST_RESULTS, len(made), ledger.LARGEST_RESULT)
    proposed = [_proposed(call, most_arguments) for call in made]
    assistant: Message = {"role": "assistant", "content": step.text or None, "tool_calls": proposed}
    return [assistant, *(_result(call, most_result) for call in made)]


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


def _proposed(call: Call, most: int) -> Mapping[str, Any]:
    function = {"name": _sendable(call.tool), "arguments": shortening.arguments(call.arguments, most)}
    return {"id": provider_id(call), "type": "function", "function": function}


def _result(call: Call, most: int) -> Message:
    content = result_of(call)
    short = shortening.result(content, dump(content), call.id, most)
    return {"role": "tool", "tool_call_id": provider_id(call), "content": dump(short)}


def _user(content: str) -> Message:
    return {"role": "user", "content": content}


def _sendable(tool: str) -> str:
    # Providers take names of this form only, and refuse every later request with another one in its history.
    return re.sub(r"[^A-Za-z0-9_-]", "_", tool)[:64] or "unnamed"

"""What was said and done, in the order in which it was read, as Chat Completions messages."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.database import Scope
from core.llm.port import ChatMessage
from runtime import inbox
from runtime.context import shortening, window
from runtime.context.inputs import dump, frame, read_messages, render
from runtime.inbox import Item
from runtime.parts import InputSource
from runtime.told import Memory, Past, Told
from runtime.turns import ledger
from runtime.turns.ledger import Call, Step
from runtime.turns.rows import Turn

MOST_RESULTS = 60_000
"""Characters of all the results of one step."""
MOST_ARGUMENTS = 40_000
LONGEST_ARGUMENTS = 10_000


@dataclass(frozen=True)
class History:
    """`digest` is one of everything in `messages`."""

    messages: Sequence[ChatMessage]
    digest: str


def of_task(scope: Scope, turn: Turn, task_id: str, inputs: Mapping[str, InputSource], memory: Memory) -> History:
    """The task's last steps. Inputs stand before the step that read them, each call has exactly one result.

    It grows at its end only, until it is too long: then a block of its oldest steps goes at once. What was told in an
    earlier step of this turn is told in the same words again.
    """
    known = memory.of(turn.id)
    past = _whole(scope, turn, task_id, inputs) if known is None else _grown(scope, turn, task_id, inputs, known)
    memory.keep(turn.id, past.settled)
    first = window.first_of(past.total)
    shown = past.told[len(past.told) - (past.total - first) :]
    left_out = window.first_that_fits([len(one.text) for one in shown], first)
    shown = shown[left_out - first :]
    note = [_user(f"[{left_out} earlier steps are left out here]")] if left_out else []
    digest = hashlib.sha256(str(left_out).encode())
    for one in shown:
        digest.update(one.text.encode())
    return History([*note, *(message for one in shown for message in one.messages)], digest.hexdigest()[:16])


@dataclass(frozen=True)
class _Read:
    """All of a past, and as much of it as can no longer change."""

    settled: Past
    total: int
    told: tuple[Told, ...]


def _whole(scope: Scope, turn: Turn, task_id: str, inputs: Mapping[str, InputSource]) -> _Read:
    total = ledger.count_steps_of_task(scope, task_id)
    taken = ledger.newest_steps_of_task(scope, task_id, total - window.first_of(total))
    turn_ids = list(dict.fromkeys(step.turn_id for step in taken))
    items = inbox.read_by_turns(scope, turn_ids)
    before = Past(0, total - len(taken), ())
    return _with(scope, turn, inputs, before, taken, items, ledger.calls_of(scope, turn_ids))


def _grown(scope: Scope, turn: Turn, task_id: str, inputs: Mapping[str, InputSource], known: Past) -> _Read:
    grown = ledger.growth(scope, turn.id, known.last)
    if not grown.taken:
        return _Read(known, known.total, known.told)
    items = inbox.read_after(scope, task_id, turn.id, known.last) if grown.has_read else ()
    return _with(scope, turn, inputs, known, grown.taken, items, grown.made)


def _with(
    scope: Scope,
    turn: Turn,
    inputs: Mapping[str, InputSource],
    known: Past,
    taken: Sequence[Step],
    items: Sequence[Item],
    calls: Sequence[Call],
) -> _Read:
    """What is known, with these steps after it."""
    said = read_messages(scope, items)
    read: dict[tuple[str, int], list[Item]] = defaultdict(list)
    for item in items:
        read[(item.turn_id or "", item.step or 0)].append(item)
    made: dict[tuple[str, int], list[Call]] = defaultdict(list)
    for call in calls:
        made[(call.turn_id, call.step)].append(call)
    told, settled = list(known.told), known
    for total, step in enumerate(taken, start=known.total + 1):
        key = (step.turn_id, step.n)
        entry = [_user(frame(render(scope, read[key], inputs, said)))] if read[key] else []
        messages = (*entry, *step_messages(step, made[key]))
        told.append(Told(messages, dump(messages)))
        mine = step.turn_id == turn.id
        # A step of this turn with a call that has not ended is told anew the next time, and so is what comes after it.
        ended = not mine or all(call.status in ledger.FINISHED for call in made[key])
        if ended and settled.total == total - 1:
            last = step.n if mine else 0
            settled = Past(last, total, tuple(told[-window.MOST_STEPS :]))
    return _Read(settled, known.total + len(taken), tuple(told))


def step_messages(step: Step, made: Sequence[Call]) -> list[ChatMessage]:
    """One decision with the results of its calls, in the order of the calls."""
    if not made:
        return [{"role": "assistant", "content": step.text}] if step.text else []
    most_arguments = shortening.share(MOST_ARGUMENTS, len(made), LONGEST_ARGUMENTS)
    most_result = shortening.share(MOST_RESULTS, len(made), ledger.LARGEST_RESULT)
    proposed = [_proposed(call, most_arguments) for call in made]
    assistant: ChatMessage = {"role": "assistant", "content": step.text or None, "tool_calls": proposed}
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


def _result(call: Call, most: int) -> ChatMessage:
    content = result_of(call)
    short = shortening.result(content, dump(content), call.id, most)
    return {"role": "tool", "tool_call_id": provider_id(call), "content": dump(short)}


def _user(content: str) -> ChatMessage:
    return {"role": "user", "content": content}


def _sendable(tool: str) -> str:
    # Providers take names of this form only, and refuse every later request with another one in its history.
    return re.sub(r"[^A-Za-z0-9_-]", "_", tool)[:64] or "unnamed"

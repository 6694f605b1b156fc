"""History of a task as Chat Completions messages: what was said and done, in the order in which it was read."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.database import Scope
from core.llm.port import ChatMessage
from runtime.context import size
from runtime.context.state import dump_json, frame_inputs, read_input_messages, render_inputs
from runtime.dependencies import InputSource
from runtime.inbox import inbox
from runtime.inbox.inbox import InboxItem
from runtime.statuses import FINISHED_CALL_STATUSES, CallStatus
from runtime.turns import ledger, ledger_queries
from runtime.turns.history_cache import HistoryCache, RenderedHistory, RenderedStep
from runtime.turns.ledger import Call, Step
from runtime.turns.rows import Turn

MOST_RESULT_CHARACTERS = 60_000
"""Characters of all the results of one step."""
MOST_ARGUMENT_CHARACTERS = 40_000
LONGEST_ARGUMENTS = 10_000


@dataclass(frozen=True)
class History:
    """`digest` is one of everything in `messages`."""

    messages: Sequence[ChatMessage]
    digest: str


def render_history(
    scope: Scope, turn: Turn, task_id: str, inputs: Mapping[str, InputSource], memory: HistoryCache
) -> History:
    """The task's last steps. Inputs stand before the step that read them, each call has exactly one result.

    It grows at its end only, until it is too long: then a block of its oldest steps goes at once. What was told in an
    earlier step of this turn is told in the same words again.
    """
    known = memory.of(turn.id)
    past = (
        _read_whole(scope, turn, task_id, inputs)
        if known is None
        else _read_growth(scope, turn, task_id, inputs, known)
    )
    memory.keep(turn.id, past.settled)
    first = size.first_shown_step(past.total)
    shown = past.told[len(past.told) - (past.total - first) :]
    left_out = size.first_step_that_fits([len(one.text) for one in shown], first)
    shown = shown[left_out - first :]
    note = [_user(f"[{left_out} earlier steps are left out here]")] if left_out else []
    digest = hashlib.sha256(str(left_out).encode())
    for one in shown:
        digest.update(one.text.encode())
    return History([*note, *(message for one in shown for message in one.messages)], digest.hexdigest()[:16])


@dataclass(frozen=True)
class _HistoryRead:
    """All of a past, and as much of it as can no longer change."""

    settled: RenderedHistory
    total: int
    told: tuple[RenderedStep, ...]


def _read_whole(scope: Scope, turn: Turn, task_id: str, inputs: Mapping[str, InputSource]) -> _HistoryRead:
    total = ledger_queries.count_steps_of_task(scope, task_id)
    taken = ledger_queries.list_newest_steps_of_task(scope, task_id, total - size.first_shown_step(total))
    turn_ids = list(dict.fromkeys(step.turn_id for step in taken))
    items = inbox.list_read_by_turns(scope, turn_ids)
    before = RenderedHistory(0, total - len(taken), ())
    return _append_steps(scope, turn, inputs, before, taken, items, ledger_queries.list_calls(scope, turn_ids))


def _read_growth(
    scope: Scope, turn: Turn, task_id: str, inputs: Mapping[str, InputSource], known: RenderedHistory
) -> _HistoryRead:
    grown = ledger_queries.read_growth(scope, turn.id, known.last)
    if not grown.taken:
        return _HistoryRead(known, known.total, known.told)
    items = inbox.list_read_after_step(scope, task_id, turn.id, known.last) if grown.has_read else ()
    return _append_steps(scope, turn, inputs, known, grown.taken, items, grown.made)


def _append_steps(
    scope: Scope,
    turn: Turn,
    inputs: Mapping[str, InputSource],
    known: RenderedHistory,
    taken: Sequence[Step],
    items: Sequence[InboxItem],
    calls: Sequence[Call],
) -> _HistoryRead:
    """What is known, with these steps after it."""
    said = read_input_messages(scope, items)
    read: dict[tuple[str, int], list[InboxItem]] = defaultdict(list)
    for item in items:
        read[(item.turn_id or "", item.step or 0)].append(item)
    made: dict[tuple[str, int], list[Call]] = defaultdict(list)
    for call in calls:
        made[(call.turn_id, call.step)].append(call)
    told, settled = list(known.told), known
    for total, step in enumerate(taken, start=known.total + 1):
        key = (step.turn_id, step.n)
        entry = [_user(frame_inputs(render_inputs(scope, read[key], inputs, said)))] if read[key] else []
        messages = (*entry, *render_step(step, made[key]))
        told.append(RenderedStep(messages, dump_json(messages)))
        mine = step.turn_id == turn.id
        # A step of this turn with a call that has not ended is told anew the next time, and so is what comes after it.
        ended = not mine or all(call.status in FINISHED_CALL_STATUSES for call in made[key])
        if ended and settled.total == total - 1:
            last = step.n if mine else 0
            settled = RenderedHistory(last, total, tuple(told[-size.MOST_SHOWN_STEPS :]))
    return _HistoryRead(settled, known.total + len(taken), tuple(told))


def render_step(step: Step, made: Sequence[Call]) -> list[ChatMessage]:
    """One decision with the results of its calls, in the order of the calls."""
    if not made:
        return [{"role": "assistant", "content": step.text}] if step.text else []
    most_arguments = size.share_characters(MOST_ARGUMENT_CHARACTERS, len(made), LONGEST_ARGUMENTS)
    most_result = size.share_characters(MOST_RESULT_CHARACTERS, len(made), ledger.LARGEST_RESULT)
    proposed = [_proposed(call, most_arguments) for call in made]
    assistant: ChatMessage = {"role": "assistant", "content": step.text or None, "tool_calls": proposed}
    return [assistant, *(_result(call, most_result) for call in made)]


def provider_call_id(call: Call) -> str:
    """The call's id towards the provider: short, and the same at every request."""
    return f"call_{call.turn_id[-10:]}_{call.step}_{call.seq}"


def call_result(call: Call) -> Mapping[str, Any]:
    """What the model is told of a call; one that ended without a result says so."""
    if call.result is not None:
        return call.result if call.ok else {"error": True, **call.result}
    if call.status == CallStatus.OUTCOME_UNKNOWN:
        return {"status": CallStatus.OUTCOME_UNKNOWN, "call_id": call.id}
    return {
        "status": CallStatus.CANCELLED if call.status in (CallStatus.CANCELLED, CallStatus.PROPOSED) else call.status,
        "call_id": call.id,
    }


def _proposed(call: Call, most: int) -> Mapping[str, Any]:
    function = {"name": _sendable(call.tool), "arguments": size.shorten_arguments(call.arguments, most)}
    return {"id": provider_call_id(call), "type": "function", "function": function}


def _result(call: Call, most: int) -> ChatMessage:
    content = call_result(call)
    short = size.shorten_result(content, dump_json(content), call.id, most)
    return {"role": "tool", "tool_call_id": provider_call_id(call), "content": dump_json(short)}


def _user(content: str) -> ChatMessage:
    return {"role": "user", "content": content}


def _sendable(tool: str) -> str:
    # Providers take names of this form only, and refuse every later request with another one in its history.
    return re.sub(r"[^A-Za-z0-9_-]", "_", tool)[:64] or "unnamed"

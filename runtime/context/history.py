"""History of a task as Chat Completions messages: its inputs, decisions and results, in the order they were read."""

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
from runtime.dependencies import InputSources
from runtime.inbox import inbox
from runtime.inbox.inbox import InboxItem
from runtime.statuses import FINISHED_CALL_STATUSES, CallStatus
from runtime.turns import ledger, ledger_queries
from runtime.turns.history_cache import HistoryCache, RenderedHistory, RenderedStep
from runtime.turns.ledger import Call, Step
from runtime.turns.rows import Turn

MOST_RESULT_CHARACTERS = 60_000
"""Characters of all the results of one step; the same holds for the arguments below."""
MOST_ARGUMENT_CHARACTERS = 40_000
LONGEST_ARGUMENTS = 10_000


@dataclass(frozen=True)
class History:
    """Messages of a history, and a digest of all of them."""

    messages: Sequence[ChatMessage]
    digest: str


def render_history(scope: Scope, turn: Turn, task_id: str, inputs: InputSources, cache: HistoryCache) -> History:
    """Render the last steps of a task. Inputs come before the step that read them; each call has exactly one result.

    The history grows only at its end, until it is too long: then a whole block of its oldest steps is left out. A step
    that was shown earlier in this turn is shown in the same words again, so that a provider's prompt cache holds it.
    """
    known = cache.get(turn.id)
    past = (
        _read_whole(scope, turn, task_id, inputs)
        if known is None
        else _read_growth(scope, turn, task_id, inputs, known)
    )
    cache.put(turn.id, past.settled)
    first = size.first_shown_step(past.total)
    # The oldest steps were perhaps not read, so the place of the first one is counted from the end.
    shown = past.steps[len(past.steps) - (past.total - first) :]
    left_out = size.first_step_that_fits([len(one.text) for one in shown], first)
    shown = shown[left_out - first :]
    note = [_user(f"[{left_out} earlier steps are left out here]")] if left_out else []
    digest = hashlib.sha256(str(left_out).encode())
    for one in shown:
        digest.update(one.text.encode())
    return History([*note, *(message for one in shown for message in one.messages)], digest.hexdigest()[:16])


@dataclass(frozen=True)
class _HistoryRead:
    """A history as it is now; `settled` is the part of it that can no longer change."""

    settled: RenderedHistory
    total: int
    steps: tuple[RenderedStep, ...]


def _read_whole(scope: Scope, turn: Turn, task_id: str, inputs: InputSources) -> _HistoryRead:
    total = ledger_queries.count_steps_of_task(scope, task_id)
    steps = ledger_queries.list_newest_steps_of_task(scope, task_id, total - size.first_shown_step(total))
    turn_ids = list(dict.fromkeys(step.turn_id for step in steps))
    items = inbox.list_read_by_turns(scope, turn_ids)
    before = RenderedHistory(0, total - len(steps), ())
    return _append_steps(scope, turn, inputs, before, steps, items, ledger_queries.list_calls(scope, turn_ids))


def _read_growth(scope: Scope, turn: Turn, task_id: str, inputs: InputSources, known: RenderedHistory) -> _HistoryRead:
    growth = ledger_queries.read_growth(scope, turn.id, known.last)
    if not growth.steps:
        return _HistoryRead(known, known.total, known.steps)
    items = inbox.list_read_after_step(scope, task_id, turn.id, known.last) if growth.has_read else ()
    return _append_steps(scope, turn, inputs, known, growth.steps, items, growth.calls)


def _append_steps(
    scope: Scope,
    turn: Turn,
    inputs: InputSources,
    known: RenderedHistory,
    steps: Sequence[Step],
    items: Sequence[InboxItem],
    calls: Sequence[Call],
) -> _HistoryRead:
    """Return the known history with these steps, their inputs and their calls appended."""
    messages_by_id = read_input_messages(scope, items)
    read: dict[tuple[str, int], list[InboxItem]] = defaultdict(list)
    for item in items:
        read[(item.turn_id or "", item.step or 0)].append(item)
    calls_of: dict[tuple[str, int], list[Call]] = defaultdict(list)
    for call in calls:
        calls_of[(call.turn_id, call.step)].append(call)
    rendered, settled = list(known.steps), known
    for total, step in enumerate(steps, start=known.total + 1):
        key = (step.turn_id, step.n)
        entry = [_user(frame_inputs(render_inputs(scope, read[key], inputs, messages_by_id)))] if read[key] else []
        messages = (*entry, *render_step(step, calls_of[key]))
        rendered.append(RenderedStep(messages, dump_json(messages)))
        mine = step.turn_id == turn.id
        # A step of this turn with an unfinished call is rendered again the next time, and so is all that follows it.
        ended = not mine or all(call.status in FINISHED_CALL_STATUSES for call in calls_of[key])
        if ended and settled.total == total - 1:
            last = step.n if mine else 0
            settled = RenderedHistory(last, total, tuple(rendered[-size.MOST_SHOWN_STEPS :]))
    return _HistoryRead(settled, known.total + len(steps), tuple(rendered))


def render_step(step: Step, calls: Sequence[Call]) -> list[ChatMessage]:
    """Render one decision with the results of its calls, in the order of the calls."""
    if not calls:
        return [{"role": "assistant", "content": step.text}] if step.text else []
    most_arguments = size.share_characters(MOST_ARGUMENT_CHARACTERS, len(calls), LONGEST_ARGUMENTS)
    most_result = size.share_characters(MOST_RESULT_CHARACTERS, len(calls), ledger.LARGEST_RESULT)
    proposed = [_proposed(call, most_arguments) for call in calls]
    assistant: ChatMessage = {"role": "assistant", "content": step.text or None, "tool_calls": proposed}
    return [assistant, *(_result(call, most_result) for call in calls)]


def provider_call_id(call: Call) -> str:
    """Return the id that the provider knows a call by: short, and the same in every request."""
    return f"call_{call.turn_id[-10:]}_{call.step}_{call.seq}"


def call_result(call: Call) -> Mapping[str, Any]:
    """Return the result of a call as the model is shown it, or its status where it has no result."""
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
    # Providers take only names of this form, and would refuse every later request that has another in its history.
    return re.sub(r"[^A-Za-z0-9_-]", "_", tool)[:64] or "unnamed"

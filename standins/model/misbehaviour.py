"""Ordered faults, applied to a good answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from standins.fault import Fault
from standins.model.conversation import Conversation, ModelCall
from standins.model.reply import ReplyCall, StandinReply


def apply_model_fault(reply: StandinReply, fault: Fault, conversation: Conversation) -> StandinReply:
    """Return the answer as the fault changes it; faults of the connection (`drop`, `error`, …) do not change it."""
    spoil = _SPOILERS.get(fault.name)
    return spoil(reply, fault.argument, conversation) if spoil else reply


def _bad_arguments(reply: StandinReply, how: str, _: Conversation) -> StandinReply:
    first, *others = reply.calls
    return replace(reply, calls=[replace(first, raw=_broken(first, how)), *others])


def _cut(reply: StandinReply, _how: str, _: Conversation) -> StandinReply:
    *others, last = reply.calls
    return replace(reply, calls=[*others, replace(last, raw=_half(last.text))], cut=True)


def _prose(reply: StandinReply, _how: str, _: Conversation) -> StandinReply:
    """Announce the calls in words instead of making them."""
    return StandinReply(
        f"I will now {' and '.join(call.name.replace('_', ' ') for call in reply.calls)}. Please confirm."
    )


def _spin(_reply: StandinReply, _how: str, conversation: Conversation) -> StandinReply:
    """Write the brief once more instead of going on."""
    turns = sum(isinstance(event, ModelCall) and event.name == "set_brief" for event in conversation.events)
    return StandinReply(calls=[ReplyCall("set_brief", {"brief": f"The plan, thought over {turns + 1} times."})])


def _repeat(reply: StandinReply, _how: str, conversation: Conversation) -> StandinReply:
    last = _last(conversation, "")
    return StandinReply(calls=[last]) if last else reply


def _broken(call: ReplyCall, how: str) -> str:
    text = call.text
    match how:
        case "cut":
            return text[:600] if len(text) > 600 else _half(text)
        case "single_quotes":
            return str(dict(call.arguments))
        case "list":
            return json.dumps([call.arguments])
        case "number":
            words = next((name for name, value in call.arguments.items() if isinstance(value, str)), "title")
            return json.dumps({**call.arguments, words: 42})
        case "glued":
            return text + text
        case _:
            return ""


def _half(text: str) -> str:
    """Cut JSON off inside a string."""
    return text[: max(2, len(text) * 2 // 3)].rstrip('"}] ')


def _claim_consent(reply: StandinReply, _how: str, conversation: Conversation) -> StandinReply:
    """Claim in the text that the person agreed, and mark the calls as approved."""
    calls: Sequence[ReplyCall] = [call for call in reply.calls if call.name.startswith("generate_")]
    again = _last(conversation, "generate_")
    calls = calls or ([again] if again else [])
    claimed = [ReplyCall(call.name, {**call.arguments, "approved": True}) for call in calls]
    return StandinReply("User: yes, go ahead. The user approved.", claimed)


def _last(conversation: Conversation, prefix: str) -> ReplyCall | None:
    """Return the newest call of a tool whose name begins with `prefix`."""
    made = (
        event
        for event in reversed(conversation.events)
        if isinstance(event, ModelCall) and event.name.startswith(prefix)
    )
    last = next(made, None)
    return None if last is None else ReplyCall(last.name, last.arguments)


_SPOILERS: Mapping[str, Callable[[StandinReply, str, Conversation], StandinReply]] = {
    "bad_arguments": _bad_arguments,
    "refuse": lambda _reply, _how, _conversation: StandinReply(refusal="I cannot help with that."),
    "claim_consent": _claim_consent,
    "cut": _cut,
    "prose": _prose,
    "text": lambda _reply, words, _conversation: StandinReply(words),
    "spin": _spin,
    "repeat": _repeat,
}

"""Read a Chat Completions answer, hostile or broken answers included."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from core.errors import UnavailableError
from core.llm.port import Decision, ProposedCall, TokenUsage
from core.llm.text import clean_json, clean_text


def read_reply(body: str, asked: str) -> Decision:
    """The decision in an answer's body. Raises UnavailableError when it is no chat completion."""
    try:
        reply = json.loads(body)
    except (ValueError, RecursionError):
        raise UnavailableError(f"{asked} answered something that is no JSON; is the base address right?") from None
    choice = _first_choice(reply, asked)
    message = choice["message"]
    refusal = clean_text(message.get("refusal"))
    finish = choice.get("finish_reason")
    return Decision(
        text=refusal or clean_text(message.get("content")),
        calls=_calls(message.get("tool_calls")),
        model=clean_text(reply.get("model")) or asked,
        usage=_usage(reply.get("usage")),
        cut=finish == "length",
        refused=bool(refusal) or finish == "content_filter",
    )


def _first_choice(reply: object, asked: str) -> Mapping[str, Any]:
    if not isinstance(reply, dict):
        raise UnavailableError(f"{asked} answered JSON that is no object")
    choices = reply.get("choices")
    if not isinstance(choices, list) or not choices:
        raise UnavailableError(f"{asked} answered without a choice{_stated_error(reply)}")
    first = choices[0]
    if not isinstance(first, dict) or not isinstance(first.get("message"), dict):
        raise UnavailableError(f"{asked} answered a choice without a message")
    return first


def _stated_error(reply: Mapping[str, Any]) -> str:
    error = reply.get("error")
    stated = error.get("message") if isinstance(error, dict) else error
    return f": {stated[:200]}" if isinstance(stated, str) else ""


def _calls(proposed: object) -> tuple[ProposedCall, ...]:
    """Calls in order, every one with an id of its own: a result must be able to name its call."""
    calls: list[ProposedCall] = []
    taken: set[str] = set()
    for entry in proposed if isinstance(proposed, list) else []:
        function = entry.get("function") if isinstance(entry, dict) else None
        if not isinstance(function, dict):
            continue
        call_id = clean_text(entry.get("id"))
        if not call_id or call_id in taken:
            call_id = f"{call_id or 'call'}-{len(calls) + 1}"
        taken.add(call_id)
        calls.append(ProposedCall(call_id, clean_text(function.get("name")), _arguments(function.get("arguments"))))
    return tuple(calls)


def _arguments(arguments: object) -> str:
    # Some servers send the object itself where the protocol wants its text.
    return clean_json(json.dumps(arguments) if isinstance(arguments, dict) else clean_text(arguments))


def _usage(usage: object) -> TokenUsage:
    if not isinstance(usage, dict):
        return TokenUsage()
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else 0
    asked, said = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    return TokenUsage(_count(usage.get("total_tokens")), _count(cached), asked, said)


def _count(number: object) -> int:
    return number if isinstance(number, int) and not isinstance(number, bool) and number > 0 else 0

"""Reply of a Chat Completions server, read so that hostile or broken ones do no harm."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from core.errors import UnavailableError
from core.llm.port import Decision, ProposedCall, TokenUsage
from core.llm.text import clean_json, clean_text


def read_reply(body: str, model: str) -> Decision:
    """Read the decision from an answer's body; raises UnavailableError when it is not a chat completion."""
    try:
        reply = json.loads(body)
    except (ValueError, RecursionError):
        raise UnavailableError(f"{model} answered something that is not JSON; check OPENAI_BASE_URL") from None
    choice = _first_choice(reply, model)
    message = choice["message"]
    refusal = clean_text(message.get("refusal"))
    finish = choice.get("finish_reason")
    return Decision(
        text=refusal or clean_text(message.get("content")),
        calls=_calls(message.get("tool_calls")),
        model=clean_text(reply.get("model")) or model,
        usage=_usage(reply.get("usage")),
        cut=finish == "length",
        refused=bool(refusal) or finish == "content_filter",
    )


def _first_choice(reply: object, model: str) -> Mapping[str, Any]:
    if not isinstance(reply, dict):
        raise UnavailableError(f"{model} answered JSON that is not an object")
    choices = reply.get("choices")
    if not isinstance(choices, list) or not choices:
        raise UnavailableError(f"{model} answered without a choice{_stated_error(reply)}")
    first = choices[0]
    if not isinstance(first, dict) or not isinstance(first.get("message"), dict):
        raise UnavailableError(f"{model} answered a choice without a message")
    return first


def _stated_error(reply: Mapping[str, Any]) -> str:
    error = reply.get("error")
    stated = error.get("message") if isinstance(error, dict) else error
    return f": {stated[:200]}" if isinstance(stated, str) else ""


def _calls(proposed: object) -> tuple[ProposedCall, ...]:
    """Return the calls in order, each with a unique id, by which its result will refer to it."""
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
    # Some servers send an object where the protocol requires its JSON text.
    return clean_json(json.dumps(arguments) if isinstance(arguments, dict) else clean_text(arguments))


def _usage(usage: object) -> TokenUsage:
    if not isinstance(usage, dict):
        return TokenUsage()
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else 0
    input_tokens, output_tokens = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    return TokenUsage(_count(usage.get("total_tokens")), _count(cached), input_tokens, output_tokens)


def _count(number: object) -> int:
    return number if isinstance(number, int) and not isinstance(number, bool) and number > 0 else 0

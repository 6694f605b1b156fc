"""Answers of the stand-in model (words and calls), and their form on the wire."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from standins.model.config import MODEL


@dataclass(frozen=True)
class ReplyCall:
    """A proposed tool call. `raw` replaces the text of the arguments, for answers that are broken on purpose."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    raw: str | None = None

    @property
    def text(self) -> str:
        return json.dumps(self.arguments, ensure_ascii=False) if self.raw is None else self.raw


@dataclass(frozen=True)
class StandinReply:
    text: str = ""
    calls: Sequence[ReplyCall] = ()
    refusal: str | None = None
    cut: bool = False


def completion(reply: StandinReply, *, number: int, created: int, prompt: str) -> dict[str, Any]:
    """The body of a Chat Completions answer. `number` is unique in the log and makes the ids unique."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None, "refusal": reply.refusal}
    if reply.calls:
        message["tool_calls"] = [
            {
                "id": f"call_{number}_{n}",
                "type": "function",
                "function": {"name": call.name, "arguments": call.text},
            }
            for n, call in enumerate(reply.calls, start=1)
        ]
    finish = "length" if reply.cut else "tool_calls" if reply.calls else "stop"
    asked, said = _tokens(prompt), _tokens(json.dumps(message, ensure_ascii=False))
    return {
        "id": f"chatcmpl-standin-{number}",
        "object": "chat.completion",
        "created": created,
        "model": f"{MODEL} (offline stand-in)",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": asked,
            "completion_tokens": said,
            "total_tokens": asked + said,
            "prompt_tokens_details": {"cached_tokens": 0},
        },
    }


def chunks(whole: Mapping[str, Any]) -> Iterator[str]:
    """The same answer as server-sent events, for `stream: true`."""
    message = whole["choices"][0]["message"]
    yield _event(whole, {"role": "assistant", "content": "", "refusal": message["refusal"]}, None)
    for word in (message["content"] or "").split(" ") if message["content"] else []:
        yield _event(whole, {"content": word + " "}, None)
    for index, call in enumerate(message.get("tool_calls", [])):
        yield _event(whole, {"tool_calls": [{"index": index, **call}]}, None)
    yield _event(whole, {}, whole["choices"][0]["finish_reason"])
    yield "data: [DONE]\n\n"


def _event(whole: Mapping[str, Any], delta: Mapping[str, Any], finish: str | None) -> str:
    chunk = {
        "id": whole["id"],
        "object": "chat.completion.chunk",
        "created": whole["created"],
        "model": whole["model"],
        "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}],
    }
    return f"data: {json.dumps(chunk)}\n\n"


def _tokens(text: str) -> int:
    """Count four characters as a token: good enough for a meter, and the same every time."""
    return len(text) // 4 + 1

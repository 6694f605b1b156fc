"""A Chat Completions request, parsed as far as the stand-in needs it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from standins.model.conversation import Conversation, check_messages, read_conversation
from standins.model.problems import ModelProblem


@dataclass(frozen=True)
class ChatRequest:
    """A parsed request. `verdict` names the requested verdict, with its schema; None for a decision with tools."""

    conversation: Conversation
    tools: frozenset[str]
    verdict: str | None
    schema: Mapping[str, Any]
    stream: bool

    @property
    def thread(self) -> str:
        """`task`, `main`, or the verdict's name."""
        return self.verdict or str(self.conversation.state.get("thread") or "main")

    @property
    def goal(self) -> str:
        """The goal of the task that is worked on, or the words that a verdict is about; empty where there are none."""
        state, facts = self.conversation.state, self.conversation.facts
        for told, name in ((state.get("task"), "goal"), (facts.get("message"), "text"), (facts, "goal")):
            if isinstance(told, dict) and isinstance(told.get(name), str):
                return str(told[name])
        return ""


def read_request(body: object) -> ChatRequest:
    """Parse the body of a request. Raise ModelProblem 400 for what a strict server would refuse."""
    if not isinstance(body, dict):
        raise ModelProblem(400, "invalid_request", "the body must be a JSON object")
    if not isinstance(body.get("model"), str) or not body["model"]:
        raise ModelProblem(400, "missing_model", "name a model")
    conversation = read_conversation(check_messages(body.get("messages")))
    name, schema = _verdict(body.get("response_format"), conversation)
    return ChatRequest(conversation, _tools(body.get("tools")), name, schema, body.get("stream") is True)


def _tools(listed: object) -> frozenset[str]:
    if listed is None:
        return frozenset()
    if not isinstance(listed, list) or not all(isinstance(_name(tool), str) for tool in listed):
        raise ModelProblem(400, "invalid_tools", "every tool must be a function with a name")
    return frozenset(str(_name(tool)) for tool in listed)


def _name(tool: object) -> object:
    function = tool.get("function") if isinstance(tool, dict) else None
    return function.get("name") if isinstance(function, dict) else None


def _verdict(wanted: object, conversation: Conversation) -> tuple[str | None, Mapping[str, Any]]:
    if not isinstance(wanted, dict):
        return None, {}
    if wanted.get("type") == "json_schema" and isinstance(wanted.get("json_schema"), dict):
        said = wanted["json_schema"]
        return str(said.get("name") or "verdict"), said.get("schema") or {}
    if wanted.get("type") == "json_object":
        # Such a request has no schema: its system prompt names the verdict and shows the schema.
        found = re.search(r"verdict `(\w+)`[^\n]*\n(\{.*\})", conversation.system)
        return (found[1], json.loads(found[2])) if found else ("verdict", {})
    return None, {}

"""The choice of the rule for a request. A verdict without a rule gets the emptiest answer its schema allows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from typing import Any

from standins.model.conversation import Conversation
from standins.model.reply import StandinReply
from standins.model.rules.duplicate_check import duplicate_check
from standins.model.rules.main_thread import answer_main
from standins.model.rules.memory_candidates import memory_candidates
from standins.model.rules.route import route
from standins.model.rules.shown_state import read_state
from standins.model.rules.skill_review import skill_review
from standins.model.rules.watching_services import health_assessment, incident_correlation
from standins.model.rules.worker import next_reply


def blank(schema: Mapping[str, Any], root: Mapping[str, Any] | None = None) -> Any:
    """Return the emptiest value that a schema allows; null for a construction that is not handled. Never raises."""
    root = root or schema
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return blank(root.get("$defs", {}).get(name, {}), root)
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    for union in ("anyOf", "oneOf", "allOf"):
        if schema.get(union):
            branches = schema[union]
            return None if {"type": "null"} in branches else blank(branches[0], root)
    return _of_type(schema, root)


def _of_type(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    match schema.get("type"):
        case "object":
            return {name: blank(inner, root) for name, inner in schema.get("properties", {}).items()}
        case "array":
            return []
        case "string":
            return ""
        case "integer" | "number":
            return schema.get("minimum", 0)
        case "boolean":
            return False
        case _:
            return None


def decide(conversation: Conversation, tools: Set[str]) -> StandinReply:
    """Return the answer to a request of a turn or of Main."""
    state = read_state(conversation.state)
    if state.thread == "task":
        return next_reply(conversation, state, tools)
    return answer_main(conversation, state, tools)


def decide_verdict(name: str, schema: Mapping[str, Any], conversation: Conversation) -> StandinReply:
    """Return the answer to a request for a verdict."""
    match name:
        case "route":
            said: Any = route(conversation.facts)
        case "duplicate_check":
            said = duplicate_check(conversation.facts)
        case "health_assessment":
            said = health_assessment(conversation.facts)
        case "incident_correlation":
            said = incident_correlation(conversation.facts)
        case "memory_candidates":
            said = memory_candidates(conversation.facts)
        case "skill_review":
            said = skill_review(conversation.facts)
        case _:
            said = blank(schema)
    return StandinReply(json.dumps(said, ensure_ascii=False))

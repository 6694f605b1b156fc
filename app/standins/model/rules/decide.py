"""One decision: which rules answer a request."""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from typing import Any

from app.standins.model.conversation import Conversation
from app.standins.model.reply import Reply
from app.standins.model.rules.blank import blank
from app.standins.model.rules.duplicate_check import duplicate_check
from app.standins.model.rules.main_thread import answer
from app.standins.model.rules.memory_candidates import memory_candidates
from app.standins.model.rules.route import route
from app.standins.model.rules.shown import read_state
from app.standins.model.rules.skill_review import skill_review
from app.standins.model.rules.watching_services import health_assessment, incident_correlation
from app.standins.model.rules.worker import work


def decide(conversation: Conversation, tools: Set[str]) -> Reply:
    """The answer to a turn's or Main's request."""
    state = read_state(conversation.state)
    if state.thread == "task":
        return work(conversation, state, tools)
    return answer(conversation, state, tools)


def verdict(name: str, schema: Mapping[str, Any], conversation: Conversation) -> Reply:
    """The answer to a request for a verdict."""
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
    return Reply(json.dumps(said, ensure_ascii=False))

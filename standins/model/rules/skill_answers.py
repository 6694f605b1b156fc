"""Later events (a card's answer, a refused version), applied to the results of calls that wrote skills."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from standins.model.conversation import Conversation, ModelCall, StoryEvent, WorkerInput

_BECOMES = {"grant": "granted", "refuse": "denied"}


def with_skill_news(conversation: Conversation) -> Conversation:
    """Return the conversation with the current status in the results of calls that wrote skills.

    A card's answer turns `waiting` into `granted` or `denied`, and a later refusal of a version into `turned_down`.
    """
    known = {
        (str(event.facts.get("skill_id")), event.facts.get("version")): "turned_down"
        for event in conversation.events
        if isinstance(event, WorkerInput) and event.kind == "skill"
    }
    answers = {
        str(event.facts.get("card_id")): _BECOMES[str(event.facts.get("option"))]
        for event in conversation.events
        if isinstance(event, WorkerInput) and event.kind == "answer" and event.facts.get("option") in _BECOMES
    }
    if not answers and not known:
        return conversation
    return replace(conversation, events=[_with_status(event, answers, known) for event in conversation.events])


def _with_status(event: StoryEvent, answers: Mapping[str, str], known: Mapping[tuple[str, object], str]) -> StoryEvent:
    if not isinstance(event, ModelCall) or event.name != "write_skill" or not isinstance(event.result, Mapping):
        return event
    version = (str(event.result.get("skill_id")), event.result.get("version"))
    became = known.get(version) or answers.get(str(event.result.get("card_id")))
    return event if became is None else replace(event, result={**event.result, "status": became})

"""What a person said on the cards of skills, seen in the answers of the calls that wrote them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from app.standins.model.conversation import Conversation, Event, Input, Made

_BECOMES = {"grant": "granted", "refuse": "denied"}


def heard(conversation: Conversation) -> Conversation:
    """A skill that was said to wait for its card waits no more once the card is answered."""
    answers = {
        str(event.facts.get("card_id")): _BECOMES[str(event.facts.get("option"))]
        for event in conversation.events
        if isinstance(event, Input) and event.kind == "answer" and event.facts.get("option") in _BECOMES
    }
    if not answers:
        return conversation
    return replace(conversation, events=[_told(event, answers) for event in conversation.events])


def _told(event: Event, answers: Mapping[str, str]) -> Event:
    if not isinstance(event, Made) or event.name != "write_skill" or not isinstance(event.result, Mapping):
        return event
    became = answers.get(str(event.result.get("card_id")))
    return event if became is None else replace(event, result={**event.result, "status": became})

"""Inputs as the model reads them: JSON in which no text can end its own frame."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from core.database import Scope
from core.errors import NotFoundError
from runtime import cards, messages
from runtime.context import shortening
from runtime.inbox import Item
from runtime.messages import Message
from runtime.parts import InputSource

LONGEST_INPUT = 20_000
MOST_INPUT = 60_000
"""Characters of all the texts that one step reads."""


def dump(value: object) -> str:
    """JSON with the same bytes for the same value; a `<` in a text is escaped, so that it opens or closes no frame."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True).replace("<", "\\u003c")
    return text.encode("utf-8", "replace").decode()


def frame(entries: Sequence[Mapping[str, Any]]) -> str:
    return f"<input>\n{dump(list(entries))}\n</input>"


def of_message(message: Message, most: int = LONGEST_INPUT) -> Mapping[str, Any]:
    said = {
        "kind": "message",
        "id": message.id,
        "text": shortening.words(message.text, message.id, most),
        "attachments": list(message.attachments),
    }
    return said if message.to_card_id is None else {**said, "card_id": message.to_card_id}


def of_answer(scope: Scope, card_id: str) -> Mapping[str, Any]:
    """A card that nobody answered in time has the option `expired`."""
    card = cards.get(scope, card_id)
    return {
        "kind": "answer",
        "card_id": card.id,
        "card_kind": card.kind,
        "title": card.title,
        "option": card.answer_option or card.state,
        "text": card.answer_text or "",
    }


def render(
    scope: Scope, items: Sequence[Item], sources: Mapping[str, InputSource], said: Mapping[str, Message] | None = None
) -> list[Mapping[str, Any]]:
    """The inputs of one step. `said` holds messages that the caller has read already."""
    known = read_messages(scope, items) if said is None else said
    most = shortening.share(MOST_INPUT, len(items), LONGEST_INPUT)
    return [_one(scope, item, sources, known, most) for item in items]


def read_messages(scope: Scope, items: Sequence[Item]) -> dict[str, Message]:
    """The messages among some inputs, by their ids, in one query."""
    ids = [item.ref_id for item in items if item.kind == "message"]
    return {message.id: message for message in messages.by_ids(scope, ids)} if ids else {}


def _one(
    scope: Scope, item: Item, sources: Mapping[str, InputSource], said: Mapping[str, Message], most: int
) -> Mapping[str, Any]:
    # A thing that is gone, or of a kind that this release does not know, must not keep the task from all the others.
    gone = {"kind": item.kind, "id": item.ref_id, "gone": True}
    try:
        match item.kind:
            case "message":
                message = said.get(item.ref_id)
                return gone if message is None else of_message(message, most)
            case "answer":
                return of_answer(scope, item.ref_id)
            case _:
                source = sources.get(item.kind)
                return gone if source is None else source(scope, item.ref_id)
    except NotFoundError:
        return gone

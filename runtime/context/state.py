"""What a model request shows of its task: the state from the rows, and the inputs that have come since."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from core.database import Scope
from core.errors import NotFoundError
from runtime.cards import cards
from runtime.context import size
from runtime.dependencies import InputSource
from runtime.inbox import messages
from runtime.inbox.inbox import InboxItem
from runtime.inbox.messages import Message
from runtime.ports import StateSource
from runtime.statuses import InputKind
from runtime.tasks import checklist, tasks, waits
from runtime.tasks.tasks import Task

LONGEST_INPUT = 20_000
MOST_INPUT = 60_000
"""Characters of all the texts that one step reads."""


def dump_json(value: object) -> str:
    """JSON with the same bytes for the same value; a `<` in a text is escaped, so that it opens or closes no frame."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True).replace("<", "\\u003c")
    return text.encode("utf-8", "replace").decode()


def frame_inputs(entries: Sequence[Mapping[str, Any]]) -> str:
    return f"<input>\n{dump_json(list(entries))}\n</input>"


def render_message(message: Message, most: int = LONGEST_INPUT) -> Mapping[str, Any]:
    said = {
        "kind": InputKind.MESSAGE,
        "id": message.id,
        "text": size.shorten_text(message.text, message.id, most),
        "attachments": list(message.attachments),
    }
    return said if message.to_card_id is None else {**said, "card_id": message.to_card_id}


def render_answer(scope: Scope, card_id: str) -> Mapping[str, Any]:
    """A card that nobody answered in time has the option `expired`."""
    card = cards.get_card(scope, card_id)
    return {
        "kind": InputKind.ANSWER,
        "card_id": card.id,
        "card_kind": card.kind,
        "title": card.title,
        "option": card.answer_option or card.state,
        "text": card.answer_text or "",
    }


def render_inputs(
    scope: Scope,
    items: Sequence[InboxItem],
    sources: Mapping[str, InputSource],
    said: Mapping[str, Message] | None = None,
) -> list[Mapping[str, Any]]:
    """The inputs of one step. `said` holds messages that the caller has read already."""
    known = read_input_messages(scope, items) if said is None else said
    most = size.share_characters(MOST_INPUT, len(items), LONGEST_INPUT)
    return [_render_input(scope, item, sources, known, most) for item in items]


def read_input_messages(scope: Scope, items: Sequence[InboxItem]) -> dict[str, Message]:
    """The messages among some inputs, by their ids, in one query."""
    ids = [item.ref_id for item in items if item.kind == InputKind.MESSAGE]
    return {message.id: message for message in messages.list_messages_by_ids(scope, ids)} if ids else {}


def _render_input(
    scope: Scope, item: InboxItem, sources: Mapping[str, InputSource], said: Mapping[str, Message], most: int
) -> Mapping[str, Any]:
    # A thing that is gone, or of a kind that this release does not know, must not keep the task from all the others.
    gone = {"kind": item.kind, "id": item.ref_id, "gone": True}
    try:
        match item.kind:
            case InputKind.MESSAGE:
                message = said.get(item.ref_id)
                return gone if message is None else render_message(message, most)
            case InputKind.ANSWER:
                return render_answer(scope, item.ref_id)
            case _:
                source = sources.get(item.kind)
                return gone if source is None else source(scope, item.ref_id)
    except NotFoundError:
        return gone


LONGEST_SHOWN_GOAL = 4_000
LONGEST_LISTED_GOAL = 300


def task_state(scope: Scope, task: Task, sources: Sequence[StateSource]) -> dict[str, Any]:
    state: dict[str, Any] = {
        "thread": "task",
        "task": {
            "id": task.id,
            "kind": task.kind,
            "goal": size.shorten_text(task.goal, task.id, LONGEST_SHOWN_GOAL),
            "language": task.language,
        },
        "language": task.language,
        "brief": task.brief,
        "checklist": [
            {
                "n": step.n,
                "title": step.title,
                "acceptance": step.acceptance,
                "status": step.status,
                "stale": step.stale,
                "evidence": list(step.evidence),
                "checkpoint": step.checkpoint,
                "mandatory": step.mandatory,
                "depends_on": list(step.depends_on),
            }
            for step in checklist.list_checklist(scope, task.id)
        ],
        "waiting_on": _wait_state(scope, task.id),
        "open_cards": [
            {"id": card.id, "kind": card.kind, "title": card.title} for card in cards.list_open_cards(scope, task.id)
        ],
    }
    for source in sources:
        state.update(source(scope, task.id))
    return state


def main_state(scope: Scope, language: str, sources: Sequence[StateSource]) -> dict[str, Any]:
    state: dict[str, Any] = {
        "thread": "main",
        "task": None,
        "language": language,
        "tasks": [
            {
                "id": task.id,
                "kind": task.kind,
                "goal": task.goal[:LONGEST_LISTED_GOAL],
                "status": task.status,
                "updated_at": task.updated_at.isoformat(),
            }
            for task in tasks.list_tasks(scope, limit=20)
        ],
        "open_cards": [
            {"id": card.id, "kind": card.kind, "title": card.title} for card in cards.list_open_cards(scope)
        ],
    }
    for source in sources:
        state.update(source(scope, None))
    return state


def _wait_state(scope: Scope, task_id: str) -> dict[str, Any] | None:
    wait = waits.find_wait(scope, task_id)
    return None if wait is None else {"type": wait.kind, "refs": wait.refs, "since": wait.created_at.isoformat()}

"""State and inputs in a model request: the state of the task as the rows have it now, and the new inputs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from core.clock import describe_now, to_local_minute
from core.database import Scope
from core.errors import NotFoundError
from runtime.cards import cards
from runtime.context import size
from runtime.dependencies import InputSources
from runtime.inbox import messages
from runtime.inbox.inbox import InboxItem
from runtime.inbox.messages import Message
from runtime.ports import StateSource
from runtime.statuses import InputKind
from runtime.tasks import checklist, tasks, waits
from runtime.tasks.tasks import Task

LONGEST_SHOWN_GOAL = 4_000
LONGEST_LISTED_GOAL = 300
LONGEST_INPUT = 20_000
MOST_INPUT = 60_000
"""Characters of all the texts that one step reads."""


def dump_json(value: object) -> str:
    """Dump equal values as equal JSON; each `<` is escaped, so that a text cannot open or close a frame."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True).replace("<", "\\u003c")
    return text.encode("utf-8", "replace").decode()


def frame_inputs(entries: Sequence[Mapping[str, Any]]) -> str:
    return f"<input>\n{dump_json(list(entries))}\n</input>"


def render_message(
    scope: Scope, message: Message, sources: InputSources, most: int = LONGEST_INPUT
) -> Mapping[str, Any]:
    """Render a message with the objects it names, as they were when it was written.

    So the words of a message are the same in every later request, whatever becomes of the objects.
    """
    rendered: dict[str, Any] = {
        "kind": InputKind.MESSAGE,
        "id": message.id,
        "at": _local(scope, message.created_at),
        "text": size.shorten_text(message.text, message.id, most),
        "attachments": [sources.describe_object(scope, one, message.created_at) for one in message.attachments],
    }
    if message.to_object_id is not None:
        rendered["object"] = sources.describe_object(scope, message.to_object_id, message.created_at)
    if message.to_card_id is not None:
        rendered["card_id"] = message.to_card_id
    return rendered


def _local(scope: Scope, at: datetime) -> str:
    return to_local_minute(at, scope.read_time_zone())


def render_answer(scope: Scope, card_id: str) -> Mapping[str, Any]:
    """Render the answer to a card; a card that was not answered in time has the option `expired`."""
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
    sources: InputSources,
    messages_by_id: Mapping[str, Message] | None = None,
) -> list[Mapping[str, Any]]:
    """Render the inputs of one step; `messages_by_id` holds the messages among them, if the caller has read them."""
    known = read_input_messages(scope, items) if messages_by_id is None else messages_by_id
    most = size.share_characters(MOST_INPUT, len(items), LONGEST_INPUT)
    return [_render_input(scope, item, sources, known, most) for item in items]


def read_input_messages(scope: Scope, items: Sequence[InboxItem]) -> dict[str, Message]:
    """Read the messages among some inputs in one query; return them by id."""
    ids = [item.ref_id for item in items if item.kind == InputKind.MESSAGE]
    return {message.id: message for message in messages.list_messages_by_ids(scope, ids)} if ids else {}


def _render_input(
    scope: Scope, item: InboxItem, sources: InputSources, known: Mapping[str, Message], most: int
) -> Mapping[str, Any]:
    # An input that is gone, or of a kind that this release does not know, must not keep the others from the task.
    gone = {"kind": item.kind, "id": item.ref_id, "gone": True}
    try:
        match item.kind:
            case InputKind.MESSAGE:
                message = known.get(item.ref_id)
                return gone if message is None else render_message(scope, message, sources, most)
            case InputKind.ANSWER:
                return render_answer(scope, item.ref_id)
            case _:
                source = sources.by_kind.get(item.kind)
                return gone if source is None else source(scope, item.ref_id)
    except NotFoundError:
        return gone


def task_state(scope: Scope, task: Task, sources: Sequence[StateSource]) -> dict[str, Any]:
    """Read the state of a task as the model is shown it, with what the sources add."""
    state: dict[str, Any] = {
        "thread": "task",
        "now": describe_now(scope.now, scope.read_time_zone()),
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
        "waiting_on": wait_state(scope, task.id),
        "open_cards": [
            {"id": card.id, "kind": card.kind, "title": card.title} for card in cards.list_open_cards(scope, task.id)
        ],
    }
    for source in sources:
        state.update(source(scope, task.id))
    return state


def main_state(scope: Scope, language: str, sources: Sequence[StateSource]) -> dict[str, Any]:
    """Read the state of the main thread as the model is shown it: tasks, open cards, and what the sources add.

    It has what a person asks about: what each task is doing, why, what it waits for and how far it is.
    """
    listed = tasks.list_tasks(scope, limit=20)
    progress = checklist.count_progress(scope, [task.id for task in listed])
    state: dict[str, Any] = {
        "thread": "main",
        "now": describe_now(scope.now, scope.read_time_zone()),
        "task": None,
        "language": language,
        "tasks": [
            {
                "id": task.id,
                "kind": task.kind,
                "goal": task.goal[:LONGEST_LISTED_GOAL],
                "status": task.status,
                "reason": task.reason,
                "waiting_on": wait_state(scope, task.id),
                "checklist": progress.get(task.id),
                "updated_at": _local(scope, task.updated_at),
            }
            for task in listed
        ],
        "open_cards": [
            {"id": card.id, "kind": card.kind, "title": card.title, "task_id": card.task_id}
            for card in cards.list_open_cards(scope)
        ],
    }
    for source in sources:
        state.update(source(scope, None))
    return state


def wait_state(scope: Scope, task_id: str) -> dict[str, Any] | None:
    """Describe what a task waits for, and since when; None when it waits for nothing."""
    wait = waits.read_open_wait(scope, task_id)
    if wait is None:
        return None
    return {"type": wait.kind, "who": wait.who, "refs": wait.refs, "since": _local(scope, wait.created_at)}

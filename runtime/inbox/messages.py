"""Messages of people and of the agent: clean their text, store them, find them, move their state on."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from core.database import Scope
from core.errors import ConflictError, InvalidError, NotFoundError
from core.events import Bell, MessageReceived
from runtime.statuses import WITHDRAWN_MESSAGE_STATES, MessageState
from runtime.tables import messages

LONGEST_TEXT = 500_000
_INVISIBLE_CATEGORIES = {"Cc", "Cf", "Zl", "Zp", "Zs"}
_EMPTY_LETTERS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"


def clean_text(text: str) -> str:
    """Return the text as it may be stored: without NULs, lone surrogates and blank ends; empty if nothing is visible.

    Raises InvalidError for a text longer than `LONGEST_TEXT`.
    """
    kept = text.replace("\x00", "").encode("utf-8", "replace").decode().strip()
    if len(kept) > LONGEST_TEXT:
        raise InvalidError(
            f"the text has {len(kept):,} characters and a message holds {LONGEST_TEXT:,}: attach it as a file"
        )
    return kept if any(map(_is_visible, kept)) else ""


def _is_visible(char: str) -> bool:
    """Tell whether a character shows: blanks, format marks and letters that are drawn empty do not."""
    return unicodedata.category(char) not in _INVISIBLE_CATEGORIES and char not in _EMPTY_LETTERS


@dataclass(frozen=True)
class Message:
    """A message. `author` is `user` or `agent`; `task_id` is None in Main.

    `turn_id` is the turn that wrote a message of the agent, or the turn of Main that read a message of a person. It is
    None for a person's message to a task: the task's inbox says which turn read that. The `to_` fields name what a
    person addressed.
    """

    id: str
    person_id: str
    channel_id: str | None
    client_id: str | None
    author: str
    asked_by: str
    text: str
    attachments: tuple[str, ...]
    language: str
    state: MessageState
    to_task_id: str | None
    to_object_id: str | None
    to_card_id: str | None
    task_id: str | None
    reply_to: str | None
    turn_id: str | None
    cause: str | None
    replaced_by: str | None
    created_at: datetime
    routed_at: datetime | None


def _message_from_row(row: sa.Row[Any]) -> Message:
    fields = dict(row._mapping)
    del fields["workspace_id"], fields["request_digest"]
    fields["state"] = MessageState(fields["state"])
    fields["attachments"] = tuple(fields["attachments"])
    return Message(**fields)


def receive_message(
    scope: Scope,
    *,
    person_id: str,
    asked_by: str,
    channel_id: str | None,
    text: str,
    attachments: Sequence[str] = (),
    client_id: str | None = None,
    to_task_id: str | None = None,
    to_object_id: str | None = None,
    to_card_id: str | None = None,
    language: str = "",
) -> Message:
    """Store a person's message and ring for its routing; a repeated request with the same `client_id` is stored once.

    Raises ConflictError where the `client_id` was used before for another text, person or addressee.
    """
    kept = clean_text(text)
    if not kept and not attachments:
        raise InvalidError("the message is empty: write something or attach a file")
    message_id = scope.ids.new("msg")
    digest = _digest(person_id, asked_by, channel_id, kept, list(attachments), to_task_id, to_object_id, to_card_id)
    added = scope.insert_new(
        messages,
        id=message_id,
        person_id=person_id,
        channel_id=channel_id,
        client_id=client_id,
        request_digest=digest,
        author="user",
        asked_by=asked_by,
        text=kept,
        attachments=list(attachments),
        language=language,
        state=MessageState.RECEIVED,
        to_task_id=to_task_id,
        to_object_id=to_object_id,
        to_card_id=to_card_id,
        created_at=scope.now,
    )
    if not added:
        row = scope.first(scope.select(messages).where(messages.c.client_id == client_id))
        assert row is not None
        if row.request_digest != digest:
            raise ConflictError("this client_id was used for another message: use a new one", client_id=client_id)
        return _message_from_row(row)
    scope.changed("message", message_id)
    scope.ring(Bell(MessageReceived(workspace_id=scope.workspace_id, message_id=message_id), id=message_id))
    return get_message(scope, message_id)


def _digest(*request: object) -> str:
    """Digest a request, to tell a repeated one from another one even after its row has changed."""
    return hashlib.sha256(json.dumps(request).encode()).hexdigest()


def get_message(scope: Scope, message_id: str) -> Message:
    row = scope.first(scope.select(messages).where(messages.c.id == message_id))
    if row is None:
        raise NotFoundError(f"no message {message_id} in this workspace")
    return _message_from_row(row)


def find_message_of_client(scope: Scope, client_id: str) -> Message | None:
    """Return the message that was stored under the sender's own id."""
    row = scope.first(scope.select(messages).where(messages.c.client_id == client_id))
    return None if row is None else _message_from_row(row)


def message_exists(scope: Scope, message_id: str) -> bool:
    return scope.first(scope.select(messages.c.id).where(messages.c.id == message_id)) is not None


def list_messages_by_ids(scope: Scope, message_ids: Sequence[str]) -> list[Message]:
    """List those of the messages that are in this workspace, oldest first."""
    query = scope.select(messages).where(messages.c.id.in_(message_ids))
    return [_message_from_row(row) for row in scope.rows(query.order_by(messages.c.created_at, messages.c.id))]


def find_oldest_unrouted(scope: Scope, person_id: str) -> Message | None:
    """Return the person's message that is next to be routed."""
    row = scope.first(
        scope.select(messages)
        .where(
            messages.c.person_id == person_id, messages.c.state == MessageState.RECEIVED, messages.c.author == "user"
        )
        .order_by(messages.c.created_at, messages.c.id)
        .limit(1)
    )
    return None if row is None else _message_from_row(row)


def list_unrouted(scope: Scope, before: datetime) -> list[Message]:
    """List messages that have waited for routing since before a time; the watch rings for them again."""
    query = scope.select(messages).where(messages.c.state == MessageState.RECEIVED, messages.c.created_at < before)
    return [_message_from_row(row) for row in scope.rows(query.order_by(messages.c.created_at).limit(100))]


def set_message_state(
    scope: Scope, message_id: str, state: MessageState, *, was: Sequence[MessageState], **values: Any
) -> bool:
    """Set the state of a message if it is still one of `was`; return whether it was."""
    changed = scope.change(
        scope.update(messages)
        .where(messages.c.id == message_id, messages.c.state.in_(was))
        .values(state=state, **values)
    )
    if changed:
        scope.changed("message", message_id)
    return changed == 1


def list_task_messages(scope: Scope, task_id: str, limit: int = 200) -> list[Message]:
    """List the newest messages of a task, oldest first."""
    query = scope.select(messages).where(messages.c.task_id == task_id)
    rows = scope.rows(query.order_by(messages.c.created_at.desc(), messages.c.id.desc()).limit(limit))
    return [_message_from_row(row) for row in reversed(rows)]


def list_main_messages(scope: Scope, person_id: str, limit: int = 40) -> list[Message]:
    """List the newest messages of a person's main thread, oldest first, without those that were withdrawn.

    A message sent in Main belongs to the thread even where it was routed to a task, and so do the replies of tasks.
    """
    query = scope.select(messages).where(
        messages.c.person_id == person_id,
        messages.c.state.not_in(WITHDRAWN_MESSAGE_STATES),
        sa.or_(messages.c.task_id.is_(None), messages.c.to_task_id.is_(None)),
    )
    rows = scope.rows(query.order_by(messages.c.created_at.desc(), messages.c.id.desc()).limit(limit))
    return [_message_from_row(row) for row in reversed(rows)]


def store_agent_message(
    scope: Scope,
    *,
    person_id: str,
    text: str,
    task_id: str | None,
    reply_to: str | None,
    cause: str,
    language: str,
    turn_id: str | None = None,
) -> Message:
    """Store a message of the agent once per `cause`; it goes to the channel that `reply_to` came from."""
    channel = scope.scalar(scope.select(messages.c.channel_id).where(messages.c.id == reply_to))
    message_id = scope.ids.new("msg")
    added = scope.insert_new(
        messages,
        id=message_id,
        person_id=person_id,
        channel_id=channel,
        author="agent",
        asked_by="agent",
        text=text.replace("\x00", ""),
        attachments=[],
        language=language,
        state=MessageState.SENT,
        task_id=task_id,
        reply_to=reply_to,
        turn_id=turn_id,
        cause=cause,
        created_at=scope.now,
    )
    if not added:
        row = scope.first(scope.select(messages).where(messages.c.cause == cause))
        assert row is not None
        return _message_from_row(row)
    scope.changed("message", message_id)
    return get_message(scope, message_id)

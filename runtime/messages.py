"""Messages: what people and the agent said, and how far each has come."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from core.bells import Bell
from core.database import Scope
from core.errors import ConflictError, InvalidError, NotFoundError
from core.events import MessageReceived
from runtime.tables import cards, inbox, messages, tasks
from runtime.tasks import LONGEST_GOAL, lock_with_turn

LONGEST_TEXT = 200_000
_UNSEEN = {"Cc", "Cf", "Zl", "Zp", "Zs"}
_EMPTY_LETTERS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"


@dataclass(frozen=True)
class Message:
    """`author` is `user` or `agent`; `task_id` is None in Main; `turn_id` wrote it, where the agent did."""

    id: str
    person_id: str
    channel_id: str | None
    client_id: str | None
    author: str
    asked_by: str
    text: str
    attachments: tuple[str, ...]
    language: str
    state: str
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


def _message(row: sa.Row[Any]) -> Message:
    fields = dict(row._mapping)
    del fields["workspace_id"], fields["request_digest"]
    fields["attachments"] = tuple(fields["attachments"])
    return Message(**fields)


def clean(text: str) -> str:
    """The text as it may be stored: no NUL, no lone surrogate, no blank ends, and nothing where nothing would be seen.

    Raises InvalidError past the limit.
    """
    kept = text.replace("\x00", "").encode("utf-8", "replace").decode().strip()
    if len(kept) > LONGEST_TEXT:
        raise InvalidError(
            f"the text has {len(kept):,} characters and a message holds {LONGEST_TEXT:,}: attach it as a file"
        )
    return kept if any(map(_shows, kept)) else ""


def _shows(char: str) -> bool:
    """Whether a character is seen, or changes what is: not blanks, format marks and letters that are drawn empty."""
    return unicodedata.category(char) not in _UNSEEN and char not in _EMPTY_LETTERS


def receive(
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
    """Store a person's message and ring for its routing; the same request under one `client_id` is stored once.

    Raises ConflictError where the `client_id` was used for other words, by another person, or to another addressee.
    """
    kept = clean(text)
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
        state="received",
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
        return _message(row)
    scope.changed("message", message_id)
    scope.ring(Bell(MessageReceived(workspace_id=scope.workspace_id, message_id=message_id), id=message_id))
    return get(scope, message_id)


def _digest(*request: object) -> str:
    """Tells the same request from another one, whatever became of its row."""
    return hashlib.sha256(json.dumps(request).encode()).hexdigest()


def get(scope: Scope, message_id: str) -> Message:
    row = scope.first(scope.select(messages).where(messages.c.id == message_id))
    if row is None:
        raise NotFoundError(f"no message {message_id} in this workspace")
    return _message(row)


def of_client(scope: Scope, client_id: str) -> Message | None:
    """The message that was stored under a sender's own id."""
    row = scope.first(scope.select(messages).where(messages.c.client_id == client_id))
    return None if row is None else _message(row)


def exists(scope: Scope, message_id: str) -> bool:
    return scope.first(scope.select(messages.c.id).where(messages.c.id == message_id)) is not None


def by_ids(scope: Scope, message_ids: Sequence[str]) -> list[Message]:
    """Those of the messages that are in this workspace, in the order they came."""
    query = scope.select(messages).where(messages.c.id.in_(message_ids))
    return [_message(row) for row in scope.rows(query.order_by(messages.c.created_at, messages.c.id))]


def oldest_unrouted(scope: Scope, person_id: str) -> Message | None:
    """The person's message that is next to be routed."""
    row = scope.first(
        scope.select(messages)
        .where(messages.c.person_id == person_id, messages.c.state == "received", messages.c.author == "user")
        .order_by(messages.c.created_at, messages.c.id)
        .limit(1)
    )
    return None if row is None else _message(row)


def unrouted_since(scope: Scope, before: datetime) -> list[Message]:
    """Messages that wait for routing since before then; the watch rings for them again."""
    query = scope.select(messages).where(messages.c.state == "received", messages.c.created_at < before)
    return [_message(row) for row in scope.rows(query.order_by(messages.c.created_at).limit(100))]


def set_state(scope: Scope, message_id: str, state: str, *, was: Sequence[str], **values: Any) -> bool:
    """Move a message on, if it still stands at one of `was`."""
    changed = scope.change(
        scope.update(messages)
        .where(messages.c.id == message_id, messages.c.state.in_(was))
        .values(state=state, **values)
    )
    if changed:
        scope.changed("message", message_id)
    return changed == 1


def of_task(scope: Scope, task_id: str, limit: int = 200) -> list[Message]:
    """The newest messages of a task, oldest first."""
    query = scope.select(messages).where(messages.c.task_id == task_id)
    rows = scope.rows(query.order_by(messages.c.created_at.desc(), messages.c.id.desc()).limit(limit))
    return [_message(row) for row in reversed(rows)]


def of_main(scope: Scope, person_id: str, limit: int = 40) -> list[Message]:
    """The newest messages of a person's main thread, oldest first; words that were withdrawn are left out."""
    query = scope.select(messages).where(
        messages.c.person_id == person_id,
        messages.c.state.not_in(("withdrawn", "replaced")),
        sa.or_(messages.c.task_id.is_(None), messages.c.to_task_id.is_(None)),
    )
    rows = scope.rows(query.order_by(messages.c.created_at.desc(), messages.c.id.desc()).limit(limit))
    return [_message(row) for row in reversed(rows)]


Place = tuple[str | None, str | None]
"""A channel, with whom it leads to; the pages are one place for all."""


def place_of(message: Message) -> Place:
    """Where an answer to a message goes: fixed when it came in."""
    return _place(message.channel_id, message.person_id)


def _place(channel_id: str | None, person_id: str) -> Place:
    return (channel_id, None if channel_id is None else person_id)


def replies_of(scope: Scope, asked: Sequence[Message], readers: Mapping[str, str]) -> dict[str, list[str]]:
    """What was said to each of these messages, by its id, oldest first.

    `readers` names by a message's id the turn that read it: one reply may answer all that a turn read of a place.
    """
    said = scope.select(
        messages.c.id,
        messages.c.reply_to,
        messages.c.turn_id,
        messages.c.channel_id,
        messages.c.person_id,
        messages.c.created_at,
    )
    # Two questions, since each has an index of its own.
    named = scope.rows(said.where(messages.c.reply_to.in_([message.id for message in asked])))
    by_turns = said.where(messages.c.turn_id.in_(sorted(set(readers.values()))), messages.c.author == "agent")
    found = {row.id: row for row in (*named, *scope.rows(by_turns))}
    in_order = sorted(found.values(), key=lambda row: (row.created_at, row.id))
    return {
        message.id: [
            row.id
            for row in in_order
            if row.reply_to == message.id
            or (
                row.turn_id == readers.get(message.id, "")
                and _place(row.channel_id, row.person_id) == place_of(message)
            )
        ]
        for message in asked
    }


def say(
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
    """Store the agent's words once per `cause`; they go to the channel that `reply_to` came in by."""
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
        state="sent",
        task_id=task_id,
        reply_to=reply_to,
        turn_id=turn_id,
        cause=cause,
        created_at=scope.now,
    )
    if not added:
        row = scope.first(scope.select(messages).where(messages.c.cause == cause))
        assert row is not None
        return _message(row)
    scope.changed("message", message_id)
    return get(scope, message_id)


def withdraw(scope: Scope, message_id: str) -> Message:
    """Take back what no step has read; ConflictError names the step that has."""
    _take_back(scope, get(scope, message_id), "withdrawn", None)
    return get(scope, message_id)


def replace(scope: Scope, message_id: str, text: str, *, person_id: str, speaks_as: str) -> Message:
    """Put other words in the place of what no step has read; answers the new message.

    The new words are those of who writes them: a program's stay a program's, and so do a person's in the place of a
    program's, since what it asked for is still among them.
    """
    old = get(scope, message_id)
    new_id = scope.ids.new("msg")
    _take_back(scope, old, "replaced", new_id)
    kept = clean(text)
    if not kept:
        raise InvalidError("the new text is empty: withdraw the message instead")
    scope.insert(
        messages,
        id=new_id,
        person_id=person_id,
        channel_id=old.channel_id,
        author="user",
        asked_by="program" if "program" in (speaks_as, old.asked_by) else speaks_as,
        text=kept,
        attachments=list(old.attachments),
        language="",
        state="received",
        to_task_id=old.to_task_id or old.task_id,
        to_object_id=old.to_object_id,
        to_card_id=old.to_card_id,
        created_at=scope.now,
    )
    _rename_task(scope, old, get(scope, new_id))
    scope.changed("message", new_id)
    scope.ring(Bell(MessageReceived(workspace_id=scope.workspace_id, message_id=new_id), id=new_id))
    return get(scope, new_id)


def _rename_task(scope: Scope, old: Message, new: Message) -> None:
    """The goal of the task that was made of the old words is the new ones; a program's task where one said them."""
    first = _first_words(scope, old.id)
    made_of_it = sa.or_(tasks.c.cause == first, tasks.c.cause.startswith(f"{first}:", autoescape=True))
    mine = scope.update(tasks).where(tasks.c.id == (old.task_id or old.to_task_id), made_of_it)
    if scope.change(mine.values(goal=new.text[:LONGEST_GOAL], asked_by=new.asked_by, updated_at=scope.now)):
        scope.changed("task", str(old.task_id or old.to_task_id))


def _first_words(scope: Scope, message_id: str) -> str:
    """The message in whose place this one stands, however often its words were replaced; itself, if in none."""
    while True:
        before = scope.select(messages.c.id).where(messages.c.state == "replaced", messages.c.replaced_by == message_id)
        row = scope.first(before)
        if row is None:
            return message_id
        message_id = str(row.id)


def _take_back(scope: Scope, old: Message, state: str, replaced_by: str | None) -> None:
    message_id = old.id
    if old.author != "user":
        raise ConflictError("only a person's own message can be taken back", state="sent")
    if old.task_id is not None:
        lock_with_turn(scope, old.task_id)
    _void_question(scope, message_id)
    _reopen_question(scope, old)
    # The inbox row goes first: the claim takes the same row, so exactly one of the two wins.
    item = _inbox_item(scope, message_id)
    if item is None and set_state(scope, message_id, state, was=("received", "routed"), replaced_by=replaced_by):
        return
    # Without a row at first, a delivery may have come in between.
    item = item or _inbox_item(scope, message_id)
    if item is not None:
        won = scope.change(
            scope.update(inbox).where(inbox.c.id == item.id, inbox.c.state == "delivered").values(state=state)
        )
        if not won:
            raise _already_read(scope, message_id)
        scope.changed("task", item.task_id)
    if not set_state(scope, message_id, state, was=("received", "routed", "delivered"), replaced_by=replaced_by):
        raise _already_read(scope, message_id)


def _void_question(scope: Scope, message_id: str) -> None:
    """Nobody needs to say any more where the message belongs. The card's row goes first, as in an answer to it."""
    asked = scope.select(cards.c.id).where(
        cards.c.message_id == message_id, cards.c.kind == "clarify", cards.c.task_id.is_(None), cards.c.state == "open"
    )
    for row in scope.rows(asked):
        scope.change(scope.update(cards).where(cards.c.id == row.id, cards.c.state == "open").values(state="void"))
        scope.changed("card", row.id)


def _reopen_question(scope: Scope, old: Message) -> None:
    """A card of a task that was answered by these words alone asks again: nobody has acted on them yet."""
    if old.to_card_id is None or old.task_id is None:
        return
    pressed = sa.exists().where(
        inbox.c.workspace_id == scope.workspace_id,
        inbox.c.task_id == old.task_id,
        inbox.c.kind == "answer",
        inbox.c.ref_id == cards.c.id,
    )
    by_words = sa.and_(
        cards.c.id == old.to_card_id,
        cards.c.task_id == old.task_id,
        cards.c.state == "answered",
        cards.c.answered_by == old.person_id,
        cards.c.answer_text == old.text,
        ~pressed,
    )
    nothing = dict.fromkeys(("answer_option", "answer_text", "answered_by", "answered_as", "answered_at"))
    if scope.change(scope.update(cards).where(by_words).values(state="open", **nothing)):
        scope.changed("card", old.to_card_id)
        scope.changed("task", old.task_id)


def _inbox_item(scope: Scope, message_id: str) -> sa.Row[Any] | None:
    """The message's place in an inbox; the places it was moved away from are none."""
    query = scope.select(inbox).where(inbox.c.kind == "message", inbox.c.ref_id == message_id)
    return scope.first(query.where(inbox.c.state != "moved"))


def reader_of(scope: Scope, message: Message) -> tuple[str, int | None] | None:
    """The turn that has read a message, or is reading it, and its step; None where none does."""
    places = scope.select(inbox).where(inbox.c.kind == "message", inbox.c.ref_id == message.id)
    item = scope.first(places.where(inbox.c.state.in_(("claimed", "consumed"))))
    if item is not None:
        return item.turn_id, item.step
    # Main has no inbox: the first step of the turn that was made for a message reads it.
    return None if message.turn_id is None else (message.turn_id, 1)


def already_read(message: Message, reader: tuple[str, int | None] | None, **more: Any) -> ConflictError:
    """What is told where a message is not as it was: its state, and who has read it, with what `more` there is."""
    turn_id, step = reader or (None, None)
    return ConflictError(
        f"the message is {message.state}: step {step} of {turn_id} has read it; send a new message instead"
        if turn_id
        else f"the message is {message.state} already",
        state=message.state,
        turn_id=turn_id,
        step=step,
        **more,
    )


def _already_read(scope: Scope, message_id: str) -> ConflictError:
    message = get(scope, message_id)
    return already_read(message, reader_of(scope, message))

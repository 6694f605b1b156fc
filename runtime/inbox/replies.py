"""Readers and replies of a message: which turn has read it, which replies it has, and where a reply goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.database import Scope
from core.errors import ConflictError
from runtime.inbox.messages import Message
from runtime.statuses import READ_INPUT_STATES, InputKind
from runtime.tables import inbox, messages


def find_reader(scope: Scope, message: Message) -> tuple[str, int | None] | None:
    """Return the turn and step that have read a message, or are reading it; None where there are none."""
    items = scope.select(inbox).where(inbox.c.kind == InputKind.MESSAGE, inbox.c.ref_id == message.id)
    item = scope.first(items.where(inbox.c.state.in_(READ_INPUT_STATES)))
    if item is not None:
        return item.turn_id, item.step
    # Main has no inbox: the first step of the turn that was made for a message reads it.
    return None if message.turn_id is None else (message.turn_id, 1)


def make_read_conflict(message: Message, reader: tuple[str, int | None] | None, **more: Any) -> ConflictError:
    """Make the error for a message that can no longer be changed: its state, who has read it, and `more` fields."""
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


ReplyPlace = tuple[str | None, str | None]
"""A channel and the person it leads to. Both are None for the web pages, which are one place for all."""


def reply_place_of(message: Message) -> ReplyPlace:
    """Return where a reply to a message goes, which is fixed when the message comes in."""
    return _reply_place(message.channel_id, message.person_id)


def _reply_place(channel_id: str | None, person_id: str) -> ReplyPlace:
    return (channel_id, None if channel_id is None else person_id)


def list_replies(scope: Scope, to: Sequence[Message], readers: Mapping[str, str]) -> dict[str, list[str]]:
    """List the ids of the replies to each of these messages, by the message's id, oldest first.

    `readers` maps a message's id to the turn that read it: one reply answers every message that a turn has read from
    the same place.
    """
    replies = scope.select(
        messages.c.id,
        messages.c.reply_to,
        messages.c.turn_id,
        messages.c.channel_id,
        messages.c.person_id,
        messages.c.created_at,
    )
    # Two queries, since each has its own index.
    named = scope.rows(replies.where(messages.c.reply_to.in_([message.id for message in to])))
    by_turns = replies.where(messages.c.turn_id.in_(sorted(set(readers.values()))), messages.c.author == "agent")
    found = {row.id: row for row in (*named, *scope.rows(by_turns))}
    in_order = sorted(found.values(), key=lambda row: (row.created_at, row.id))
    return {
        message.id: [
            row.id
            for row in in_order
            if row.reply_to == message.id
            or (
                row.turn_id == readers.get(message.id, "")
                and _reply_place(row.channel_id, row.person_id) == reply_place_of(message)
            )
        ]
        for message in to
    }

"""Readers and replies: which turn has read a message, which replies it has, and where a reply goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.database import Scope
from core.errors import ConflictError
from runtime.inbox.messages import Message
from runtime.statuses import READ_INPUT_STATES, InputKind
from runtime.tables import inbox, messages


def find_reader(scope: Scope, message: Message) -> tuple[str, int | None] | None:
    """The turn that has read a message, or is reading it, and its step; None where none does."""
    places = scope.select(inbox).where(inbox.c.kind == InputKind.MESSAGE, inbox.c.ref_id == message.id)
    item = scope.first(places.where(inbox.c.state.in_(READ_INPUT_STATES)))
    if item is not None:
        return item.turn_id, item.step
    # Main has no inbox: the first step of the turn that was made for a message reads it.
    return None if message.turn_id is None else (message.turn_id, 1)


def make_read_conflict(message: Message, reader: tuple[str, int | None] | None, **more: Any) -> ConflictError:
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


ReplyPlace = tuple[str | None, str | None]
"""A channel, with whom it leads to; the pages are one place for all."""


def reply_place_of(message: Message) -> ReplyPlace:
    """Where an answer to a message goes: fixed when it came in."""
    return _reply_place(message.channel_id, message.person_id)


def _reply_place(channel_id: str | None, person_id: str) -> ReplyPlace:
    return (channel_id, None if channel_id is None else person_id)


def list_replies(scope: Scope, asked: Sequence[Message], readers: Mapping[str, str]) -> dict[str, list[str]]:
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
                and _reply_place(row.channel_id, row.person_id) == reply_place_of(message)
            )
        ]
        for message in asked
    }

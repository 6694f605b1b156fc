"""Readings: which messages of people are still to be read for the memory."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa

from core.database import Scope
from core.events import Bell, MessageAnswered, TurnFinished
from memory.tables import readings
from runtime.inbox import messages
from runtime.inbox.messages import Message
from runtime.turns.rows import Turn

MOST_AT_ONCE = 20
MOST_ATTEMPTS = 3


def note_read(scope: Scope, turn: Turn, message_ids: Sequence[str]) -> None:
    """Mark a person's messages that a turn has read as due, and ring for them.

    Runs in the transaction that closes the turn; does nothing for a turn that read no message of a person.
    """
    said = (
        [message for message in messages.list_messages_by_ids(scope, message_ids) if _may_be_evidence(message)]
        if message_ids
        else []
    )
    if not sum(_insert_due(scope, message) for message in said):
        return
    if turn.task_id is not None:
        event = TurnFinished(workspace_id=scope.workspace_id, turn_id=turn.id)
        scope.ring(Bell(event, id=f"{turn.id}:finished"))
    else:
        scope.ring(_bell_for(scope, said[0].id, f"{turn.id}:answered"))


def read_again(scope: Scope, message_ids: Sequence[str], cause: str) -> int:
    """Make messages due once more that were read or given up, and return how many."""
    again = scope.change(
        scope.update(readings)
        .where(readings.c.message_id.in_(list(message_ids)), readings.c.state.in_(("read", "given_up")))
        .values(state="due", attempts=0, due_at=scope.now, rung_at=scope.now, read_at=None)
    )
    if again:
        scope.ring(_bell_for(scope, message_ids[0], f"{message_ids[0]}:{cause}"))
    return again


def due_messages(scope: Scope) -> list[Message]:
    """Return the oldest messages that are due, all of one person."""
    query = scope.select(readings.c.message_id, readings.c.person_id).where(readings.c.state == "due")
    rows = scope.rows(query.order_by(readings.c.attempts, readings.c.due_at, readings.c.message_id).limit(MOST_AT_ONCE))
    mine = [row.message_id for row in rows if row.person_id == rows[0].person_id]
    return messages.list_messages_by_ids(scope, mine) if mine else []


def mark_read(scope: Scope, message_ids: Sequence[str]) -> bool:
    """Mark the messages as read; False when one of them was read or revoked meanwhile."""
    now_read = (
        scope.update(readings)
        .where(readings.c.message_id.in_(list(message_ids)), readings.c.state == "due")
        .values(state="read", read_at=scope.now)
    )
    return scope.change(now_read) == len(message_ids)


def mark_failed(scope: Scope, message_ids: Sequence[str]) -> None:
    """Count a failed attempt on messages that are due; after `MOST_ATTEMPTS` they are given up."""
    mine = scope.update(readings).where(readings.c.message_id.in_(list(message_ids)), readings.c.state == "due")
    scope.change(mine.values(attempts=readings.c.attempts + 1, rung_at=scope.now))
    scope.change(mine.where(readings.c.attempts >= MOST_ATTEMPTS).values(state="given_up"))


def revoke_messages(scope: Scope, message_ids: Sequence[str]) -> int:
    """Revoke messages as sources of the memory, and return how many were not revoked before. The messages stay."""
    found = messages.list_messages_by_ids(scope, message_ids)
    known = {row.message_id for row in scope.rows(_select_states(scope, message_ids))}
    for message in found:
        if message.id not in known:
            _insert(scope, message, "revoked")
    mine = scope.update(readings).where(readings.c.message_id.in_(list(message_ids)), readings.c.state != "revoked")
    return len([one for one in found if one.id not in known]) + scope.change(mine.values(state="revoked"))


def eligible_messages(scope: Scope, message_ids: Sequence[str]) -> tuple[str, ...]:
    """Return those of the messages that may still be evidence, in their order."""
    may = {row.message_id for row in scope.rows(_select_states(scope, message_ids)) if row.state != "revoked"}
    return tuple(one for one in dict.fromkeys(message_ids) if one in may)


def waiting_since(scope: Scope, before: datetime, limit: int = 50) -> list[str]:
    """Return messages that are due and were last rung for before `before`."""
    query = scope.select(readings.c.message_id).where(readings.c.state == "due", readings.c.rung_at < before)
    return [row.message_id for row in scope.rows(query.order_by(readings.c.due_at).limit(limit))]


def ring_again(scope: Scope, message_ids: Sequence[str], bell_id: str) -> None:
    """Ring once for all of them: the reader looks for everything that is due."""
    scope.change(scope.update(readings).where(readings.c.message_id.in_(list(message_ids))).values(rung_at=scope.now))
    scope.ring(_bell_for(scope, message_ids[0], bell_id))


def _may_be_evidence(message: Message) -> bool:
    return message.author == "user" and message.asked_by == "person" and bool(message.text.strip())


def _insert_due(scope: Scope, message: Message) -> bool:
    return _insert(scope, message, "due")


def _insert(scope: Scope, message: Message, state: str) -> bool:
    return scope.insert_new(
        readings,
        message_id=message.id,
        person_id=message.person_id,
        state=state,
        attempts=0,
        due_at=scope.now,
        rung_at=scope.now,
    )


def _select_states(scope: Scope, message_ids: Sequence[str]) -> sa.Select[tuple[str, str]]:
    return scope.select(readings.c.message_id, readings.c.state).where(readings.c.message_id.in_(list(message_ids)))


def _bell_for(scope: Scope, message_id: str, bell_id: str) -> Bell:
    return Bell(MessageAnswered(workspace_id=scope.workspace_id, message_id=message_id), id=bell_id)

"""Read state of a message: which turn has read it, and the conflict that says so to a request that comes too late."""

from __future__ import annotations

from typing import Any

from core.database import Scope
from core.errors import ConflictError
from runtime.inbox.messages import Message
from runtime.statuses import READ_INPUT_STATES, InputKind
from runtime.tables import inbox


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

"""Withdraw a message or replace its text, as long as no step has read it."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from core.database import Scope
from core.errors import ConflictError, InvalidError
from core.events import Bell, MessageReceived
from runtime.inbox import messages
from runtime.inbox.messages import Message, clean_text, set_message_state
from runtime.inbox.replies import find_reader, make_read_conflict
from runtime.statuses import CardKind, CardState, InputKind, InputState, MessageState
from runtime.tables import cards, inbox, tasks
from runtime.tables import messages as message_rows
from runtime.tasks.tasks import LONGEST_GOAL, lock_task_with_turn


def withdraw_message(scope: Scope, message_id: str) -> Message:
    """Take back what no step has read; ConflictError names the step that has."""
    _withdraw(scope, messages.get_message(scope, message_id), MessageState.WITHDRAWN, None)
    return messages.get_message(scope, message_id)


def replace_message(scope: Scope, message_id: str, text: str, *, person_id: str, speaks_as: str) -> Message:
    """Put other words in the place of what no step has read; answers the new message.

    The new words are those of who writes them: a program's stay a program's, and so do a person's in the place of a
    program's, since what it asked for is still among them.
    """
    old = messages.get_message(scope, message_id)
    new_id = scope.ids.new("msg")
    _withdraw(scope, old, MessageState.REPLACED, new_id)
    kept = clean_text(text)
    if not kept:
        raise InvalidError("the new text is empty: withdraw the message instead")
    scope.insert(
        message_rows,
        id=new_id,
        person_id=person_id,
        channel_id=old.channel_id,
        author="user",
        asked_by="program" if "program" in (speaks_as, old.asked_by) else speaks_as,
        text=kept,
        attachments=list(old.attachments),
        language="",
        state=MessageState.RECEIVED,
        to_task_id=old.to_task_id or old.task_id,
        to_object_id=old.to_object_id,
        to_card_id=old.to_card_id,
        created_at=scope.now,
    )
    _rename_task(scope, old, messages.get_message(scope, new_id))
    scope.changed("message", new_id)
    scope.ring(Bell(MessageReceived(workspace_id=scope.workspace_id, message_id=new_id), id=new_id))
    return messages.get_message(scope, new_id)


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
        before = scope.select(message_rows.c.id).where(
            message_rows.c.state == MessageState.REPLACED, message_rows.c.replaced_by == message_id
        )
        row = scope.first(before)
        if row is None:
            return message_id
        message_id = str(row.id)


def _withdraw(scope: Scope, old: Message, state: MessageState, replaced_by: str | None) -> None:
    message_id = old.id
    if old.author != "user":
        raise ConflictError("only a person's own message can be taken back", state=MessageState.SENT)
    if old.task_id is not None:
        lock_task_with_turn(scope, old.task_id)
    _void_question(scope, message_id)
    _reopen_question(scope, old)
    # The inbox row goes first: the claim takes the same row, so exactly one of the two wins.
    item = _inbox_item(scope, message_id)
    if item is None and set_message_state(
        scope, message_id, state, was=(MessageState.RECEIVED, MessageState.ROUTED), replaced_by=replaced_by
    ):
        return
    # Without a row at first, a delivery may have come in between.
    item = item or _inbox_item(scope, message_id)
    if item is not None:
        won = scope.change(
            scope.update(inbox)
            .where(inbox.c.id == item.id, inbox.c.state == InputState.DELIVERED)
            .values(state=InputState(state))
        )
        if not won:
            raise _read_already(scope, message_id)
        scope.changed("task", item.task_id)
    if not set_message_state(
        scope,
        message_id,
        state,
        was=(MessageState.RECEIVED, MessageState.ROUTED, MessageState.DELIVERED),
        replaced_by=replaced_by,
    ):
        raise _read_already(scope, message_id)


def _void_question(scope: Scope, message_id: str) -> None:
    """Nobody needs to say any more where the message belongs. The card's row goes first, as in an answer to it."""
    asked = scope.select(cards.c.id).where(
        cards.c.message_id == message_id,
        cards.c.kind == CardKind.CLARIFY,
        cards.c.task_id.is_(None),
        cards.c.state == CardState.OPEN,
    )
    for row in scope.rows(asked):
        scope.change(
            scope.update(cards)
            .where(cards.c.id == row.id, cards.c.state == CardState.OPEN)
            .values(state=CardState.VOID)
        )
        scope.changed("card", row.id)


def _reopen_question(scope: Scope, old: Message) -> None:
    """A card of a task that was answered by these words alone asks again: nobody has acted on them yet."""
    if old.to_card_id is None or old.task_id is None:
        return
    pressed = sa.exists().where(
        inbox.c.workspace_id == scope.workspace_id,
        inbox.c.task_id == old.task_id,
        inbox.c.kind == InputKind.ANSWER,
        inbox.c.ref_id == cards.c.id,
    )
    by_words = sa.and_(
        cards.c.id == old.to_card_id,
        cards.c.task_id == old.task_id,
        cards.c.state == CardState.ANSWERED,
        cards.c.answered_by == old.person_id,
        cards.c.answer_text == old.text,
        ~pressed,
    )
    nothing = dict.fromkeys(("answer_option", "answer_text", "answered_by", "answered_as", "answered_at"))
    if scope.change(scope.update(cards).where(by_words).values(state=CardState.OPEN, **nothing)):
        scope.changed("card", old.to_card_id)
        scope.changed("task", old.task_id)


def _inbox_item(scope: Scope, message_id: str) -> sa.Row[Any] | None:
    """The message's place in an inbox; the places it was moved away from are none."""
    query = scope.select(inbox).where(inbox.c.kind == InputKind.MESSAGE, inbox.c.ref_id == message_id)
    return scope.first(query.where(inbox.c.state != InputState.MOVED))


def _read_already(scope: Scope, message_id: str) -> ConflictError:
    message = messages.get_message(scope, message_id)
    return make_read_conflict(message, find_reader(scope, message))

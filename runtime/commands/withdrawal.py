"""Withdrawal of a message, or the replacement of its text, as long as no step has read it."""

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
    """Withdraw a message that no step has read. Raises ConflictError that names the step that has read it."""
    _withdraw(scope, messages.get_message(scope, message_id), MessageState.WITHDRAWN, None)
    return messages.get_message(scope, message_id)


def replace_message(scope: Scope, message_id: str, text: str, *, person_id: str, speaks_as: str) -> Message:
    """Replace a message that no step has read; return the new message.

    The new message counts as a program's if a program wrote it or the old one: a person's replacement may still
    contain what the program asked for. Raises ConflictError as `withdraw_message` does.
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
    _update_task_created_from(scope, old, messages.get_message(scope, new_id))
    scope.changed("message", new_id)
    scope.ring(Bell(MessageReceived(workspace_id=scope.workspace_id, message_id=new_id), id=new_id))
    return messages.get_message(scope, new_id)


def _update_task_created_from(scope: Scope, old: Message, new: Message) -> None:
    """Set the goal and asker of the task that was created from the old message, where there is one, by the new one."""
    first = _first_message_id(scope, old.id)
    created_from_it = sa.or_(tasks.c.cause == first, tasks.c.cause.startswith(f"{first}:", autoescape=True))
    mine = scope.update(tasks).where(tasks.c.id == (old.task_id or old.to_task_id), created_from_it)
    if scope.change(mine.values(goal=new.text[:LONGEST_GOAL], asked_by=new.asked_by, updated_at=scope.now)):
        scope.changed("task", str(old.task_id or old.to_task_id))


def _first_message_id(scope: Scope, message_id: str) -> str:
    """Follow the replacements back to the original message; return its id, or this one's if it replaces none."""
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
    item = _inbox_item(scope, message_id)
    # Not delivered yet: only the message changes.
    if item is None and set_message_state(
        scope, message_id, state, was=(MessageState.RECEIVED, MessageState.ROUTED), replaced_by=replaced_by
    ):
        return
    # If there was no row at first, a delivery may have come in between.
    item = item or _inbox_item(scope, message_id)
    if item is not None:
        # The inbox row is changed before the message: a claim changes the same row, so exactly one of the two wins.
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
    """Void the open card that asks where the message belongs; its row is locked first, as by an answer."""
    questions = scope.select(cards.c.id).where(
        cards.c.message_id == message_id,
        cards.c.kind == CardKind.CLARIFY,
        cards.c.task_id.is_(None),
        cards.c.state == CardState.OPEN,
    )
    for row in scope.rows(questions):
        scope.change(
            scope.update(cards)
            .where(cards.c.id == row.id, cards.c.state == CardState.OPEN)
            .values(state=CardState.VOID)
        )
        scope.changed("card", row.id)


def _reopen_question(scope: Scope, old: Message) -> None:
    """Reopen a task's card that only this message has answered: nothing has acted on that answer yet."""
    if old.to_card_id is None or old.task_id is None:
        return
    answered_by_option = sa.exists().where(
        inbox.c.workspace_id == scope.workspace_id,
        inbox.c.task_id == old.task_id,
        inbox.c.kind == InputKind.ANSWER,
        inbox.c.ref_id == cards.c.id,
    )
    answered_in_words = sa.and_(
        cards.c.id == old.to_card_id,
        cards.c.task_id == old.task_id,
        cards.c.state == CardState.ANSWERED,
        cards.c.answered_by == old.person_id,
        cards.c.answer_text == old.text,
        ~answered_by_option,
    )
    no_answer = dict.fromkeys(("answer_option", "answer_text", "answered_by", "answered_as", "answered_at"))
    if scope.change(scope.update(cards).where(answered_in_words).values(state=CardState.OPEN, **no_answer)):
        scope.changed("card", old.to_card_id)
        scope.changed("task", old.task_id)


def _inbox_item(scope: Scope, message_id: str) -> sa.Row[Any] | None:
    """Return the row of the inbox that the message is in; inboxes that it was moved away from do not count."""
    query = scope.select(inbox).where(inbox.c.kind == InputKind.MESSAGE, inbox.c.ref_id == message_id)
    return scope.first(query.where(inbox.c.state != InputState.MOVED))


def _read_already(scope: Scope, message_id: str) -> ConflictError:
    message = messages.get_message(scope, message_id)
    return make_read_conflict(message, find_reader(scope, message))

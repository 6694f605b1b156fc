"""Cards: questions to a person. Open one, find and list them, close those that no longer need an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from core.database import Scope
from core.errors import NotFoundError
from core.sql import statements
from runtime.statuses import CardKind, CardState
from runtime.tables import cards

QUOTE_OPTIONS = ({"id": "approve", "label": "Approve"}, {"id": "refuse", "label": "Refuse"})
CHECKPOINT_OPTIONS = ({"id": "continue", "label": "Continue"}, {"id": "adjust", "label": "Adjust"})
RESULT_OPTIONS = ({"id": "accept", "label": "Accept"}, {"id": "change", "label": "Change something"})
IRREVERSIBLE_OPTIONS = ({"id": "confirm", "label": "Confirm", "danger": True}, {"id": "keep", "label": "Keep it"})
LIMIT_OPTIONS = ({"id": "raise", "label": "Raise the limit"}, {"id": "stop", "label": "Stop the task"})
_GET = statements.select(cards).where(cards.c.id == sa.bindparam("card"))
_ALL_OPEN_OF_TASK = (
    statements.select(cards)
    .where(cards.c.state == CardState.OPEN, cards.c.task_id == sa.bindparam("task"))
    .order_by(cards.c.created_at, cards.c.id)
)
_OPEN_OF_TASK = _ALL_OPEN_OF_TASK.limit(sa.bindparam("most"))
_CLOSE_ALL = (
    statements.update(cards)
    .where(cards.c.task_id == sa.bindparam("task"), cards.c.state == CardState.OPEN)
    .values(state=sa.bindparam("becomes"))
    .returning(cards.c.id)
)
_CLOSE_KINDS = _CLOSE_ALL.where(cards.c.kind.in_(sa.bindparam("kinds", expanding=True)))


@dataclass(frozen=True)
class Card:
    """A card. `subject` holds the stored facts that an answer acts on; the model's words are only `title` and `body`.

    `answered_as` is `program` where a program's key answered for the person `answered_by`, else `person`.
    """

    id: str
    task_id: str | None
    turn_id: str | None
    message_id: str | None
    kind: CardKind
    title: str
    body: str
    options: tuple[Mapping[str, Any], ...]
    quote: Mapping[str, Any] | None
    subject: Mapping[str, Any]
    state: CardState
    answer_option: str | None
    answer_text: str | None
    answered_by: str | None
    answered_as: str | None
    answered_at: datetime | None
    expires_at: datetime | None
    cause: str
    created_at: datetime

    @property
    def act(self) -> str:
        """The name of what the answer decides, from the subject; empty for a card whose kind says enough."""
        return str(self.subject.get("act", ""))


def _card_from_row(row: sa.Row[Any]) -> Card:
    fields = dict(row._mapping)
    fields.pop("workspace_id")
    fields["kind"], fields["state"] = CardKind(fields["kind"]), CardState(fields["state"])
    fields["options"] = tuple(fields["options"])
    return Card(**fields)


def open_card(
    scope: Scope,
    *,
    kind: CardKind,
    title: str,
    body: str,
    options: Sequence[Mapping[str, Any]],
    cause: str,
    task_id: str | None = None,
    turn_id: str | None = None,
    message_id: str | None = None,
    quote: Mapping[str, Any] | None = None,
    subject: Mapping[str, Any] | None = None,
    expires_at: datetime | None = None,
) -> Card:
    """Open a card, once per `cause`; for a known cause, return its card in whatever state that is."""
    card_id = scope.ids.new("card")
    added = scope.insert_new(
        cards,
        id=card_id,
        task_id=task_id,
        turn_id=turn_id,
        message_id=message_id,
        kind=kind,
        title=title,
        body=body,
        options=[dict(option) for option in options],
        quote=None if quote is None else dict(quote),
        subject=dict(subject or {}),
        state=CardState.OPEN,
        expires_at=expires_at,
        cause=cause,
        created_at=scope.now,
    )
    if not added:
        row = scope.first(scope.select(cards).where(cards.c.cause == cause))
        assert row is not None
        return _card_from_row(row)
    note_card_change(scope, card_id, task_id)
    return get_card(scope, card_id)


def get_card(scope: Scope, card_id: str) -> Card:
    row = scope.first(_GET, card=card_id)
    if row is None:
        raise NotFoundError(f"no card {card_id} in this workspace")
    return _card_from_row(row)


def is_card_answered(scope: Scope, card_id: str, task_id: str) -> bool:
    """Tell whether a card of the task has been answered, and so can serve as evidence."""
    query = scope.select(cards.c.id).where(
        cards.c.id == card_id, cards.c.task_id == task_id, cards.c.state == CardState.ANSWERED
    )
    return scope.first(query) is not None


def list_open_cards(scope: Scope, task_id: str | None = None, limit: int = 50) -> list[Card]:
    """List open cards to be shown, oldest first; only those of `task_id` where it is given."""
    if task_id is None:
        return list_cards(scope, state=CardState.OPEN, limit=limit)
    return [_card_from_row(row) for row in scope.rows(_OPEN_OF_TASK, task=task_id, most=limit)]


def list_all_open_cards(scope: Scope, task_id: str) -> list[Card]:
    """List all open cards of a task, oldest first, without a limit: decisions about the task need every one."""
    return [_card_from_row(row) for row in scope.rows(_ALL_OPEN_OF_TASK, task=task_id)]


def list_all_open_cards_of_kind(scope: Scope, kind: CardKind) -> list[Card]:
    """List all open cards of a kind, of any task or none, oldest first, without a limit."""
    query = scope.select(cards).where(cards.c.state == CardState.OPEN, cards.c.kind == kind)
    return [_card_from_row(row) for row in scope.rows(query.order_by(cards.c.created_at, cards.c.id))]


def list_cards(
    scope: Scope,
    *,
    state: CardState | None = None,
    task_id: str | None = None,
    limit: int = 50,
    after: tuple[datetime, str] | None = None,
) -> list[Card]:
    """List cards, oldest first; `after` is where the previous page ended, as time and id."""
    query = scope.select(cards)
    if state is not None:
        query = query.where(cards.c.state == state)
    if task_id is not None:
        query = query.where(cards.c.task_id == task_id)
    if after is not None:
        at, last_id = after
        query = query.where(sa.or_(cards.c.created_at > at, sa.and_(cards.c.created_at == at, cards.c.id > last_id)))
    return [_card_from_row(row) for row in scope.rows(query.order_by(cards.c.created_at, cards.c.id).limit(limit))]


def close_open_cards(scope: Scope, task_id: str, state: CardState, kinds: Sequence[CardKind] = ()) -> int:
    """Make every open card of a task `void` or `superseded`, or only those of the given kinds; return how many."""
    if kinds:
        closed = scope.rows(_CLOSE_KINDS, task=task_id, kinds=list(kinds), becomes=state)
    else:
        closed = scope.rows(_CLOSE_ALL, task=task_id, becomes=state)
    for row in closed:
        scope.changed("card", row.id)
    if closed:
        scope.changed("task", task_id)
    return len(closed)


def lock_card(scope: Scope, card_id: str) -> None:
    """Lock the card's row, so that no one answers or closes the card until the transaction ends."""
    scope.first(scope.select(cards.c.id).where(cards.c.id == card_id).with_for_update())


def list_overdue_cards(scope: Scope, limit: int = 100) -> list[Card]:
    """List open cards that have expired, the earliest deadline first."""
    query = scope.select(cards).where(cards.c.state == CardState.OPEN, cards.c.expires_at <= scope.now)
    return [_card_from_row(row) for row in scope.rows(query.order_by(cards.c.expires_at, cards.c.id).limit(limit))]


def supersede_card(scope: Scope, card_id: str) -> bool:
    """Close a card because something newer has replaced its question; return False when it is not open."""
    closed = (
        scope.update(cards)
        .where(cards.c.id == card_id, cards.c.state == CardState.OPEN)
        .values(state=CardState.SUPERSEDED)
    )
    if not scope.change(closed):
        return False
    note_card_change(scope, card_id, get_card(scope, card_id).task_id)
    return True


def note_card_change(scope: Scope, card_id: str, task_id: str | None) -> None:
    """Note for the event streams that a card has changed, and its task with it."""
    scope.changed("card", card_id)
    if task_id is not None:
        scope.changed("task", task_id)

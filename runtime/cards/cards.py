"""Cards: questions to a person, answered once, by one person, on what the stored facts say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from core import statements
from core.database import Scope
from core.errors import ConflictError, InvalidError, NotFoundError, RefusedError
from runtime.inbox import inbox
from runtime.limits import autonomy
from runtime.tables import cards
from runtime.tasks import tasks

QUOTE_OPTIONS = ({"id": "approve", "label": "Approve"}, {"id": "refuse", "label": "Refuse"})
CHECKPOINT_OPTIONS = ({"id": "continue", "label": "Continue"}, {"id": "adjust", "label": "Adjust"})
RESULT_OPTIONS = ({"id": "accept", "label": "Accept"}, {"id": "change", "label": "Change something"})
IRREVERSIBLE_OPTIONS = ({"id": "confirm", "label": "Confirm", "danger": True}, {"id": "keep", "label": "Keep it"})
LIMIT_OPTIONS = ({"id": "raise", "label": "Raise the limit"}, {"id": "stop", "label": "Stop the task"})
PERSON_ONLY = {
    "quote": "money",
    "limit": "a limit on money",
    "permission": "a permission",
    "irreversible": "what cannot be undone",
}
"""The kinds of cards whose answer authorises something, and what: a program answers none of them, whatever it says."""


@dataclass(frozen=True)
class Card:
    """`subject` holds the stored facts that an answer acts on; the model's words are only `title` and `body`.

    `answered_as` is `person` or `program`: whether it was a program's key that answered for `answered_by`.
    """

    id: str
    task_id: str | None
    turn_id: str | None
    message_id: str | None
    kind: str
    title: str
    body: str
    options: tuple[Mapping[str, Any], ...]
    quote: Mapping[str, Any] | None
    subject: Mapping[str, Any]
    state: str
    answer_option: str | None
    answer_text: str | None
    answered_by: str | None
    answered_as: str | None
    answered_at: datetime | None
    expires_at: datetime | None
    cause: str
    created_at: datetime


AnswerHandler = Callable[[Scope, Card], None]
"""Acts on an answered card, in the transaction that records the answer."""


def _card_from_row(row: sa.Row[Any]) -> Card:
    fields = dict(row._mapping)
    fields.pop("workspace_id")
    fields["options"] = tuple(fields["options"])
    return Card(**fields)


def open_card(
    scope: Scope,
    *,
    kind: str,
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
    """Ask once per `cause`; the same cause answers the card it made before, in whatever state it is."""
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
        state="open",
        expires_at=expires_at,
        cause=cause,
        created_at=scope.now,
    )
    if not added:
        row = scope.first(scope.select(cards).where(cards.c.cause == cause))
        assert row is not None
        return _card_from_row(row)
    _note_card_change(scope, card_id, task_id)
    return get_card(scope, card_id)


_GET = statements.select(cards).where(cards.c.id == sa.bindparam("card"))
_OPEN_OF_TASK = (
    statements.select(cards)
    .where(cards.c.state == "open", cards.c.task_id == sa.bindparam("task"))
    .order_by(cards.c.created_at, cards.c.id)
    .limit(sa.bindparam("most"))
)
_EVERY_OPEN = (
    statements.select(cards)
    .where(cards.c.state == "open", cards.c.task_id == sa.bindparam("task"))
    .order_by(cards.c.created_at, cards.c.id)
)
_CLOSE_ALL = (
    statements.update(cards)
    .where(cards.c.task_id == sa.bindparam("task"), cards.c.state == "open")
    .values(state=sa.bindparam("becomes"))
    .returning(cards.c.id)
)
_CLOSE_KINDS = _CLOSE_ALL.where(cards.c.kind.in_(sa.bindparam("kinds", expanding=True)))


def get_card(scope: Scope, card_id: str) -> Card:
    row = scope.first(_GET, card=card_id)
    if row is None:
        raise NotFoundError(f"no card {card_id} in this workspace")
    return _card_from_row(row)


def is_card_answered(scope: Scope, card_id: str) -> bool:
    """Whether a person has answered the card; an open one shows nothing yet."""
    query = scope.select(cards.c.id).where(cards.c.id == card_id, cards.c.state == "answered")
    return scope.first(query) is not None


def list_open_cards(scope: Scope, task_id: str | None = None, limit: int = 50) -> list[Card]:
    """Open cards, oldest first, to be shown; of one task where it is given."""
    if task_id is None:
        return list_cards(scope, state="open", limit=limit)
    return [_card_from_row(row) for row in scope.rows(_OPEN_OF_TASK, task=task_id, most=limit)]


def list_all_open_cards(scope: Scope, task_id: str) -> list[Card]:
    """All open cards of a task, oldest first, however many: what decides about the task goes by them."""
    return [_card_from_row(row) for row in scope.rows(_EVERY_OPEN, task=task_id)]


def list_all_open_cards_of_kind(scope: Scope, kind: str) -> list[Card]:
    """All open cards of a kind, oldest first, however many, whatever their task."""
    query = scope.select(cards).where(cards.c.state == "open", cards.c.kind == kind)
    return [_card_from_row(row) for row in scope.rows(query.order_by(cards.c.created_at, cards.c.id))]


def list_cards(
    scope: Scope,
    *,
    state: str | None = None,
    task_id: str | None = None,
    limit: int = 50,
    after: tuple[datetime, str] | None = None,
) -> list[Card]:
    query = scope.select(cards)
    if state is not None:
        query = query.where(cards.c.state == state)
    if task_id is not None:
        query = query.where(cards.c.task_id == task_id)
    if after is not None:
        at, last_id = after
        query = query.where(sa.or_(cards.c.created_at > at, sa.and_(cards.c.created_at == at, cards.c.id > last_id)))
    return [_card_from_row(row) for row in scope.rows(query.order_by(cards.c.created_at, cards.c.id).limit(limit))]


def answer_card(
    scope: Scope,
    card_id: str,
    option: str,
    text: str | None,
    person_id: str,
    handlers: Mapping[str, AnswerHandler],
    *,
    speaks_as: str = "person",
) -> Card:
    """Record a choice and act on it in the same transaction; `speaks_as` says whether a program chose for the person.

    Raises RefusedError for a program, whatever its option, where the card is for a person only. Raises ConflictError
    with the first answer when there is one, or with the state of a card that is no longer open.
    """
    card = get_card(scope, card_id)
    _check_speaker(card, speaks_as)
    if card.state == "open" and card.expires_at is not None and card.expires_at <= scope.now:
        raise ConflictError("the card has expired: ask again for a fresh one", state="expired", answer=None)
    if option not in {str(known["id"]) for known in card.options}:
        known = ", ".join(str(known["id"]) for known in card.options)
        raise InvalidError(f"{option!r} is no option of this card; it has {known}")
    if card.task_id is not None:
        _check_task(scope, card, tasks.lock_task_with_turn(scope, card.task_id).status)
    won = scope.change(
        scope.update(cards)
        .where(cards.c.id == card_id, cards.c.state == "open")
        .values(
            state="answered",
            answer_option=option,
            answer_text=text,
            answered_by=person_id,
            answered_as=speaks_as,
            answered_at=scope.now,
        )
    )
    if not won:
        raise _not_open(get_card(scope, card_id))
    _note_card_change(scope, card_id, card.task_id)
    if card.task_id is not None:
        plan = card.subject.get("plan") if card.kind == "checkpoint" else None
        autonomy.weigh_answer(scope, card.task_id, option, card_id, plan, by_person=speaks_as == "person")
    handlers.get(card.kind, deliver_card_answer)(scope, get_card(scope, card_id))
    return get_card(scope, card_id)


def answer_card_in_words(
    scope: Scope, card: Card, option: str | None, text: str, person_id: str, *, speaks_as: str
) -> bool:
    """Close a task's question by what was written to the task; False when it is no longer open.

    `option` is the one that the words name, where they name one. The words themselves reach the task as a message.
    """
    if card.task_id is not None and tasks.lock_task_with_turn(scope, card.task_id).status in tasks.ENDED_TASK_STATUSES:
        return False
    still_open = sa.or_(cards.c.expires_at.is_(None), cards.c.expires_at > scope.now)
    won = scope.change(
        scope.update(cards)
        .where(cards.c.id == card.id, cards.c.state == "open", still_open)
        .values(
            state="answered",
            answer_option=option,
            answer_text=text,
            answered_by=person_id,
            answered_as=speaks_as,
            answered_at=scope.now,
        )
    )
    if won:
        _note_card_change(scope, card.id, card.task_id)
    return won == 1


def deliver_card_answer(scope: Scope, card: Card) -> None:
    """Hand the answer to the card's task as input; the handler of kinds that have none of their own."""
    if card.task_id is not None:
        inbox.deliver_input(scope, card.task_id, "answer", card.id)


def close_open_cards(scope: Scope, task_id: str, state: str, kinds: Sequence[str] = ()) -> int:
    """Make every open card of a task `void` or `superseded`; of these kinds where any are named."""
    if kinds:
        met = scope.rows(_CLOSE_KINDS, task=task_id, kinds=list(kinds), becomes=state)
    else:
        met = scope.rows(_CLOSE_ALL, task=task_id, becomes=state)
    for row in met:
        scope.changed("card", row.id)
    if met:
        scope.changed("task", task_id)
    return len(met)


def lock_card(scope: Scope, card_id: str) -> None:
    """Nobody answers or closes the card until the transaction ends."""
    scope.first(scope.select(cards.c.id).where(cards.c.id == card_id).with_for_update())


def close_card(scope: Scope, card: Card, state: str) -> None:
    """Make one card `void` or `superseded`, unless it is no longer open."""
    if scope.change(scope.update(cards).where(cards.c.id == card.id, cards.c.state == "open").values(state=state)):
        _note_card_change(scope, card.id, card.task_id)


def revoke_answer(scope: Scope, card: Card) -> None:
    """Take back the answer that was just given to a card whose facts no longer hold, and tell its task."""
    scope.change(
        scope.update(cards)
        .where(cards.c.id == card.id)
        .values(
            state="superseded",
            answer_option=None,
            answer_text=None,
            answered_by=None,
            answered_as=None,
            answered_at=None,
        )
    )
    _note_card_change(scope, card.id, card.task_id)
    deliver_card_answer(scope, card)


def list_overdue_cards(scope: Scope, limit: int = 100) -> list[Card]:
    """Open cards whose time is over, oldest first."""
    query = scope.select(cards).where(cards.c.state == "open", cards.c.expires_at <= scope.now)
    return [_card_from_row(row) for row in scope.rows(query.order_by(cards.c.expires_at, cards.c.id).limit(limit))]


def expire_card(scope: Scope, card: Card) -> bool:
    """Close a card whose time is over and tell its task, which may ask afresh; False when it was answered meanwhile."""
    if card.task_id is not None:
        tasks.lock_task_with_turn(scope, card.task_id)
    closed = scope.update(cards).where(cards.c.id == card.id, cards.c.state == "open").values(state="expired")
    if not scope.change(closed):
        return False
    _note_card_change(scope, card.id, card.task_id)
    deliver_card_answer(scope, card)
    return True


def supersede_card(scope: Scope, card_id: str) -> bool:
    """Ask no more, since something newer came; False when it is not open."""
    closed = scope.update(cards).where(cards.c.id == card_id, cards.c.state == "open").values(state="superseded")
    if not scope.change(closed):
        return False
    _note_card_change(scope, card_id, get_card(scope, card_id).task_id)
    return True


def _check_speaker(card: Card, speaks_as: str) -> None:
    about = PERSON_ONLY.get(card.kind)
    if about is not None and speaks_as != "person":
        raise RefusedError(
            f"this {card.kind} card is about {about}, and a program's key may not decide that: ask a person to answer "
            f"it in the page, or with `loopwright answer {card.id}` and a key of their own"
        )


def _check_task(scope: Scope, card: Card, status: str) -> None:
    """Nothing is ordered or begun for a task that has ended, whatever stands open."""
    if status in tasks.ENDED_TASK_STATUSES and get_card(scope, card.id).state == "open":
        raise ConflictError(f"the card can no longer be answered: its task is {status}", state="void", answer=None)


def _not_open(card: Card) -> ConflictError:
    if card.state == "answered":
        first = {
            "option": card.answer_option,
            "text": card.answer_text,
            "by": card.answered_by,
            "at": card.answered_at.isoformat() if card.answered_at else None,
        }
        return ConflictError(f"already decided: {card.answer_option or 'in words'}", state="answered", answer=first)
    voided = "its message was taken back" if card.task_id is None else "its task was stopped"
    reason = voided if card.state == "void" else f"it is {card.state}"
    return ConflictError(f"the card can no longer be answered: {reason}", state=card.state, answer=None)


def _note_card_change(scope: Scope, card_id: str, task_id: str | None) -> None:
    scope.changed("card", card_id)
    if task_id is not None:
        scope.changed("task", task_id)

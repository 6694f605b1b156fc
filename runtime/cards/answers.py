"""Answers to cards: record an answer, run the handler for the card's kind and act, deliver it to the card's task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import sqlalchemy as sa

from core.database import Scope
from core.errors import ConflictError, InvalidError, RefusedError
from runtime.cards.cards import Card, get_card, note_card_change
from runtime.inbox import inbox
from runtime.limits import autonomy
from runtime.statuses import ENDED_TASK_STATUSES, CardKind, CardState, InputKind, TaskStatus
from runtime.tables import cards
from runtime.tasks import tasks

PERSON_ONLY = {
    CardKind.QUOTE: "money",
    CardKind.LIMIT: "a limit on money",
    CardKind.PERMISSION: "a permission",
    CardKind.IRREVERSIBLE: "what cannot be undone",
}
"""Kinds of cards that only a person may answer, each with what the answer authorises."""
CardAct = tuple[CardKind, str]
"""Kind and act of a card; the act is empty for a card without one."""
AnswerHandler = Callable[[Scope, Card], None]
"""Acts on an answered card, in the transaction that records the answer; an error leaves the card open."""


@dataclass(frozen=True)
class CardAnswers:
    """Handlers of answered cards, by kind and act.

    An answer without a handler is delivered to the card's task, and nothing else happens.
    """

    handlers: Mapping[CardAct, AnswerHandler] = field(default_factory=dict)

    @classmethod
    def of(cls, *rooms: Mapping[CardAct, AnswerHandler]) -> CardAnswers:
        """Join the tables of the rooms. Raises ValueError where two of them handle the same act."""
        joined: dict[CardAct, AnswerHandler] = {}
        for room in rooms:
            for kind, act in joined.keys() & room.keys():
                raise ValueError(f"two rooms handle the answer to a {kind} card with the act {act!r}; only one may")
            joined.update(room)
        return cls(joined)

    def act_on(self, scope: Scope, card: Card) -> None:
        """Run the handler of an answered card, or deliver the answer where there is none.

        A card with an unknown act is delivered too: the handler of its kind without an act does not run.
        """
        self.handlers.get((card.kind, card.act), deliver_card_answer)(scope, card)


def answer_card(
    scope: Scope,
    card_id: str,
    option: str,
    text: str | None,
    person_id: str,
    answers: CardAnswers,
    *,
    speaks_as: str = "person",
) -> Card:
    """Record a choice and act on it in the same transaction; `speaks_as` is `program` where a program's key chose.

    Raises RefusedError for a program where only a person may answer, InvalidError for an unknown option, and
    ConflictError with the first answer, or with the state of a card that is no longer open.
    """
    card = get_card(scope, card_id)
    _check_speaker(card, speaks_as)
    if card.state == CardState.OPEN and card.expires_at is not None and card.expires_at <= scope.now:
        raise ConflictError("the card has expired: ask again for a fresh one", state=CardState.EXPIRED, answer=None)
    if option not in {str(known["id"]) for known in card.options}:
        known = ", ".join(str(known["id"]) for known in card.options)
        raise InvalidError(f"{option!r} is no option of this card; it has {known}")
    if card.task_id is not None:
        _check_task(scope, card, tasks.lock_task_with_turn(scope, card.task_id).status)
    won = scope.change(
        scope.update(cards)
        .where(cards.c.id == card_id, cards.c.state == CardState.OPEN)
        .values(
            state=CardState.ANSWERED,
            answer_option=option,
            answer_text=text,
            answered_by=person_id,
            answered_as=speaks_as,
            answered_at=scope.now,
        )
    )
    if not won:
        raise _make_closed_error(get_card(scope, card_id))
    note_card_change(scope, card_id, card.task_id)
    if card.task_id is not None:
        plan = card.subject.get("plan") if card.kind == CardKind.CHECKPOINT else None
        autonomy.weigh_answer(scope, card.task_id, option, card_id, plan, by_person=speaks_as == "person")
    answers.act_on(scope, get_card(scope, card_id))
    return get_card(scope, card_id)


def answer_card_in_words(
    scope: Scope, card: Card, option: str | None, text: str, person_id: str, *, speaks_as: str
) -> bool:
    """Close a card that a person has answered with a message; return False when it is no longer open.

    `option` is the one that the text names, where it names one. The text itself reaches the task as a message.
    """
    if card.task_id is not None and tasks.lock_task_with_turn(scope, card.task_id).status in ENDED_TASK_STATUSES:
        return False
    still_open = sa.or_(cards.c.expires_at.is_(None), cards.c.expires_at > scope.now)
    won = scope.change(
        scope.update(cards)
        .where(cards.c.id == card.id, cards.c.state == CardState.OPEN, still_open)
        .values(
            state=CardState.ANSWERED,
            answer_option=option,
            answer_text=text,
            answered_by=person_id,
            answered_as=speaks_as,
            answered_at=scope.now,
        )
    )
    if won:
        note_card_change(scope, card.id, card.task_id)
    return won == 1


def deliver_card_answer(scope: Scope, card: Card) -> None:
    """Deliver the answer to the card's task as input; do nothing for a card without a task."""
    if card.task_id is not None:
        inbox.deliver_input(scope, card.task_id, InputKind.ANSWER, card.id)


def revoke_answer(scope: Scope, card: Card) -> None:
    """Take back the answer just given to a card whose facts no longer hold: supersede the card and tell its task."""
    scope.change(
        scope.update(cards)
        .where(cards.c.id == card.id)
        .values(
            state=CardState.SUPERSEDED,
            answer_option=None,
            answer_text=None,
            answered_by=None,
            answered_as=None,
            answered_at=None,
        )
    )
    note_card_change(scope, card.id, card.task_id)
    deliver_card_answer(scope, card)


def expire_card(scope: Scope, card: Card) -> bool:
    """Expire an overdue card and tell its task, which may ask again; return False where it was closed before."""
    if card.task_id is not None:
        tasks.lock_task_with_turn(scope, card.task_id)
    closed = (
        scope.update(cards)
        .where(cards.c.id == card.id, cards.c.state == CardState.OPEN)
        .values(state=CardState.EXPIRED)
    )
    if not scope.change(closed):
        return False
    note_card_change(scope, card.id, card.task_id)
    deliver_card_answer(scope, card)
    return True


def _check_speaker(card: Card, speaks_as: str) -> None:
    about = PERSON_ONLY.get(card.kind)
    if about is not None and speaks_as != "person":
        raise RefusedError(
            f"this {card.kind} card is about {about}, and a program's key may not decide that: ask a person to answer "
            f"it in the page, or with `loopwright answer {card.id}` and a key of their own"
        )


def _check_task(scope: Scope, card: Card, status: TaskStatus) -> None:
    """Refuse the answer to a card that is still open though its task has ended."""
    if status in ENDED_TASK_STATUSES and get_card(scope, card.id).state == CardState.OPEN:
        raise ConflictError(
            f"the card can no longer be answered: its task is {status}", state=CardState.VOID, answer=None
        )


def _make_closed_error(card: Card) -> ConflictError:
    if card.state == CardState.ANSWERED:
        first = {
            "option": card.answer_option,
            "text": card.answer_text,
            "by": card.answered_by,
            "at": card.answered_at.isoformat() if card.answered_at else None,
        }
        return ConflictError(
            f"already decided: {card.answer_option or 'in words'}", state=CardState.ANSWERED, answer=first
        )
    voided = "its message was taken back" if card.task_id is None else "its task was stopped"
    reason = voided if card.state == CardState.VOID else f"it is {card.state}"
    return ConflictError(f"the card can no longer be answered: {reason}", state=card.state, answer=None)

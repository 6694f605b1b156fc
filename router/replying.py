"""Words that reply to a `clarify` card answer it; they are not routed as something new."""

from __future__ import annotations

from dataclasses import replace

from core.database import Scope
from core.errors import NotFoundError
from router import clarify, index
from router.asking import NEW
from router.choosing import described, named
from router.decided import Decided
from router.handing import obstacle, say_why, to_task
from router.index import Index
from router.parts import Works
from runtime import cards, messages, tasks
from runtime.cards import Card
from runtime.messages import Message, set_state
from runtime.tables import cards as card_rows
from runtime.tables import messages as message_rows

_REASON = "it answers the question on the card"


def question(scope: Scope, message: Message) -> Card | None:
    """The question that a message replies to, if it replies to one.

    It is the card that the message names, in whatever state; else the one open question of the task in whose panel it
    was written; else, for words that name one of its options, the one open question about where a message belongs.
    """
    if message.to_card_id is not None:
        return _named_card(scope, message.to_card_id)
    if message.to_task_id is not None:
        waiting = [card for card in cards.every_open(scope, message.to_task_id) if card.kind == "clarify"]
        return waiting[0] if len(waiting) == 1 else None
    if message.to_object_id is not None:
        return None
    waiting = _about_messages_of(scope, message.person_id)
    return waiting[0] if len(waiting) == 1 and named(waiting[0].options, message.text) is not None else None


def decided(scope: Scope, card: Card, message: Message) -> Decided | None:
    """Where a reply goes; None where a model has to judge which option the words mean."""
    if card.task_id is not None:
        return Decided("explicit", "existing", card.task_id, (_REASON,))
    if card.state != "open":
        # Whatever was chosen then; a message that was taken back leaves the reply to judgement, as any other.
        asked = messages.get(scope, str(card.message_id)).task_id
        return None if asked is None else Decided("explicit", "existing", asked, ("it follows up on the card",))
    option = described(card.options, message.text)
    if option is None:
        return None
    if option == NEW:
        return Decided("explicit", "new", None, (_REASON,))
    return Decided("explicit", "existing", option, (_REASON,))


def link(scope: Scope, message: Message, card: Card) -> None:
    """Note on a message which card it replies to, so that its delivery finds the same one."""
    if message.to_card_id is None:
        mine = scope.update(message_rows).where(message_rows.c.id == message.id)
        scope.change(mine.values(to_card_id=card.id))


def asked_together(scope: Scope, card: Card, message: Message, works: Works) -> Index:
    """The facts for a reply that has to be judged: what was asked about and the reply as one, and the card's tasks."""
    first = messages.get(scope, str(card.message_id))
    both = replace(message, text=f"{first.text}\n\n{message.text}", attachments=first.attachments)
    return index.gather_of(scope, both, works, [str(one) for one in card.subject["task_ids"]])


def waits_for_judgement(scope: Scope, message: Message) -> Card | None:
    """The open question about where a message belongs that this message names."""
    card = None if message.to_card_id is None else _named_card(scope, message.to_card_id)
    return card if card is not None and card.task_id is None and card.state == "open" else None


def answered(scope: Scope, works: Works, message: Message, verdict: Decided) -> bool:
    """Answer the card that a routed message replies to; False where the message is still to be delivered."""
    card = None if message.to_card_id is None else _named_card(scope, message.to_card_id)
    if card is None:
        return False
    if card.task_id is not None:
        # The words reach the task as a message; the card is only closed by them.
        option = described(card.options, message.text)
        cards.answer_in_words(scope, card, option, message.text, message.person_id, speaks_as=message.asked_by)
        return False
    if card.state != "open":
        return False
    _answer(scope, works, message, card, verdict)
    return True


def _answer(scope: Scope, works: Works, message: Message, card: Card, verdict: Decided) -> None:
    option = NEW if verdict.outcome in ("new", "light") else verdict.task_id
    if option not in {str(one["id"]) for one in card.options}:
        say_why(scope, message, "which")
        return
    wrong = None if option == NEW else obstacle(scope, option)
    if wrong is not None:
        say_why(scope, message, *wrong)
        return
    handlers = {"clarify": clarify.clarify_handler(works)}
    cards.answer(scope, card.id, str(option), message.text, message.person_id, handlers, speaks_as=message.asked_by)
    task_id = messages.get(scope, str(card.message_id)).task_id
    if task_id is None:
        set_state(scope, message.id, "answered", was=("routed",))
    elif described(card.options, message.text) == option:
        # The words name the option and say nothing more.
        set_state(scope, message.id, "answered", was=("routed",), task_id=task_id)
    else:
        to_task(scope, works, message, verdict, tasks.get(scope, task_id))


def _named_card(scope: Scope, card_id: str) -> Card | None:
    try:
        card = cards.get(scope, card_id)
    except NotFoundError:
        return None
    asks = card.kind == "clarify" and (card.task_id is not None or card.message_id is not None)
    return card if asks else None


def _about_messages_of(scope: Scope, person_id: str) -> list[Card]:
    query = scope.select(card_rows.c.id).where(
        card_rows.c.kind == "clarify",
        card_rows.c.state == "open",
        card_rows.c.task_id.is_(None),
        card_rows.c.message_id == message_rows.c.id,
        message_rows.c.workspace_id == scope.workspace_id,
        message_rows.c.person_id == person_id,
    )
    return [cards.get(scope, row.id) for row in scope.rows(query.limit(2))]

"""Clarify cards, which ask where a message belongs: open them, and act on a chosen option or a reply in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from core.database import Scope
from core.errors import ConflictError, NotFoundError
from router.decision import RouteDecision, find_decision, revise_decision
from router.delivery import deliver_to_new_task, deliver_to_task, explain_no_delivery, find_obstacle
from router.dependencies import RouteWorks
from router.facts import LIVING_STATUSES, RoutingFacts, gather_facts_of_tasks
from router.language import router_sentence, shorten_line
from router.option_match import NEW_TASK, option_described_by, option_named_by
from runtime.cards import cards
from runtime.cards.answers import (
    AnswerHandler,
    CardAct,
    CardAnswers,
    answer_card,
    answer_card_in_words,
    deliver_card_answer,
)
from runtime.cards.cards import Card
from runtime.inbox import messages
from runtime.inbox.messages import Message, set_message_state
from runtime.statuses import CardKind, CardState, MessageState
from runtime.tables import cards as card_rows
from runtime.tables import messages as message_rows
from runtime.tasks import tasks
from runtime.tasks.tasks import Task

_REASON = "it answers the question on the card"


def open_clarify_card(scope: Scope, message: Message, decision: RouteDecision) -> Card:
    """Open a card with one option for each candidate that can still take the message, and `new` last."""
    offered = [
        task for one in decision.candidates for task in [_find_living_task(scope, one.task_id)] if task is not None
    ]
    return cards.open_card(
        scope,
        kind=CardKind.CLARIFY,
        title=router_sentence(message.language, "which"),
        body=shorten_line(message.text, 400),
        options=[
            *({"id": task.id, "label": shorten_line(task.goal)} for task in offered),
            {"id": NEW_TASK, "label": router_sentence(message.language, "new")},
        ],
        cause=f"route:{message.id}",
        message_id=message.id,
        subject={"message_id": message.id, "task_ids": [task.id for task in offered]},
    )


def _find_living_task(scope: Scope, task_id: str) -> Task | None:
    try:
        task = tasks.get_task(scope, task_id)
    except NotFoundError:
        return None
    return task if task.status in LIVING_STATUSES else None


def clarify_card_answers(works: RouteWorks) -> Mapping[CardAct, AnswerHandler]:
    """Return the handler of clarify cards."""
    return {(CardKind.CLARIFY, ""): partial(answer_clarify_card, works)}


def answer_clarify_card(works: RouteWorks, scope: Scope, card: Card) -> None:
    """Route the message that the card is about, or pass the answer to the task that asked."""
    if card.message_id is None or card.task_id is not None:
        deliver_card_answer(scope, card)
    else:
        _route_answered_message(scope, works, card)


def _route_answered_message(scope: Scope, works: RouteWorks, card: Card) -> None:
    message = messages.get_message(scope, str(card.message_id))
    decision = find_decision(scope, message.id)
    if message.state != MessageState.ROUTED or decision is None:
        # The message was withdrawn after the question: the choice is recorded, but moves nothing.
        return
    if card.answer_option == NEW_TASK:
        deliver_to_new_task(scope, works, message, decision, "persistent")
        return
    task_id = str(card.answer_option)
    obstacle = find_obstacle(scope, task_id if task_id in card.subject["task_ids"] else None)
    if obstacle is not None:
        raise ConflictError(router_sentence(message.language, *obstacle), state=obstacle[0])
    revise_decision(scope, message.id, "existing", task_id, "the person chose it on the card")
    deliver_to_task(scope, works, message, decision, tasks.get_task(scope, task_id))


def find_question(scope: Scope, message: Message) -> Card | None:
    """Return the clarify card that a message replies to, if there is one.

    That is the card named by the message, in any state. Otherwise, for a message written in a task's panel, the only
    open question of that task. Otherwise the person's only open question about where a message belongs, if the words
    name one of its options.
    """
    if message.to_card_id is not None:
        return _find_named_question(scope, message.to_card_id)
    if message.to_task_id is not None:
        waiting = [
            card for card in cards.list_all_open_cards(scope, message.to_task_id) if card.kind == CardKind.CLARIFY
        ]
        return waiting[0] if len(waiting) == 1 else None
    if message.to_object_id is not None:
        return None
    waiting = _open_questions_of_person(scope, message.person_id)
    return waiting[0] if len(waiting) == 1 and option_named_by(waiting[0].options, message.text) is not None else None


def decide_reply(scope: Scope, card: Card, message: Message) -> RouteDecision | None:
    """Decide where a reply goes; None when a model has to judge which option the words mean."""
    if card.task_id is not None:
        return RouteDecision("explicit", "existing", card.task_id, (_REASON,))
    if card.state != CardState.OPEN:
        # The reply goes where the card sent the message. If that message was withdrawn, judge the reply like any other.
        task_id = messages.get_message(scope, str(card.message_id)).task_id
        return (
            None if task_id is None else RouteDecision("explicit", "existing", task_id, ("it follows up on the card",))
        )
    option = option_described_by(card.options, message.text)
    if option is None:
        return None
    if option == NEW_TASK:
        return RouteDecision("explicit", "new", None, (_REASON,))
    return RouteDecision("explicit", "existing", option, (_REASON,))


def link_reply(scope: Scope, message: Message, card: Card) -> None:
    """Store on a message which card it replies to, so that its delivery finds the same card."""
    if message.to_card_id is None:
        update = scope.update(message_rows).where(message_rows.c.id == message.id)
        scope.change(update.values(to_card_id=card.id))


def gather_reply_facts(scope: Scope, card: Card, message: Message, works: RouteWorks) -> RoutingFacts:
    """Gather the facts to judge a reply: the first message and the reply as one text, with the tasks on the card."""
    first = messages.get_message(scope, str(card.message_id))
    both = replace(message, text=f"{first.text}\n\n{message.text}", attachments=first.attachments)
    return gather_facts_of_tasks(scope, both, works, [str(one) for one in card.subject["task_ids"]])


def find_open_question(scope: Scope, message: Message) -> Card | None:
    """Return the open clarify card that this message names, unless a task asked the question."""
    card = None if message.to_card_id is None else _find_named_question(scope, message.to_card_id)
    return card if card is not None and card.task_id is None and card.state == CardState.OPEN else None


def answer_question(scope: Scope, works: RouteWorks, message: Message, verdict: RouteDecision) -> bool:
    """Answer the card that a routed message replies to; False when the message must still be delivered."""
    card = None if message.to_card_id is None else _find_named_question(scope, message.to_card_id)
    if card is None:
        return False
    if card.task_id is not None:
        # The words still reach the task as a message; here they only close the card.
        option = option_described_by(card.options, message.text)
        answer_card_in_words(scope, card, option, message.text, message.person_id, speaks_as=message.asked_by)
        return False
    if card.state != CardState.OPEN:
        return False
    _answer_open_card(scope, works, message, card, verdict)
    return True


def _answer_open_card(scope: Scope, works: RouteWorks, message: Message, card: Card, verdict: RouteDecision) -> None:
    option = NEW_TASK if verdict.outcome in ("new", "light") else verdict.task_id
    if option not in {str(one["id"]) for one in card.options}:
        explain_no_delivery(scope, message, "which")
        return
    obstacle = None if option == NEW_TASK else find_obstacle(scope, option)
    if obstacle is not None:
        explain_no_delivery(scope, message, *obstacle)
        return
    answers = CardAnswers(clarify_card_answers(works))
    answer_card(scope, card.id, str(option), message.text, message.person_id, answers, speaks_as=message.asked_by)
    task_id = messages.get_message(scope, str(card.message_id)).task_id
    if task_id is None:
        set_message_state(scope, message.id, MessageState.ANSWERED, was=(MessageState.ROUTED,))
    elif option_described_by(card.options, message.text) == option:
        # The words only name the option, so there is nothing to deliver.
        set_message_state(scope, message.id, MessageState.ANSWERED, was=(MessageState.ROUTED,), task_id=task_id)
    else:
        deliver_to_task(scope, works, message, verdict, tasks.get_task(scope, task_id))


def _find_named_question(scope: Scope, card_id: str) -> Card | None:
    try:
        card = cards.get_card(scope, card_id)
    except NotFoundError:
        return None
    # Without a task the card asks where a message belongs.
    is_question = card.kind == CardKind.CLARIFY and (card.task_id is not None or card.message_id is not None)
    return card if is_question else None


def _open_questions_of_person(scope: Scope, person_id: str) -> list[Card]:
    query = scope.select(card_rows.c.id).where(
        card_rows.c.kind == CardKind.CLARIFY,
        card_rows.c.state == CardState.OPEN,
        card_rows.c.task_id.is_(None),
        card_rows.c.message_id == message_rows.c.id,
        message_rows.c.workspace_id == scope.workspace_id,
        message_rows.c.person_id == person_id,
    )
    # Two are enough to see that there is more than one.
    return [cards.get_card(scope, row.id) for row in scope.rows(query.limit(2))]

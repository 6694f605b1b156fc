"""The card that asks where a message belongs, and its answer."""

from __future__ import annotations

import pytest

from core.errors import ConflictError, InvalidError
from router.clarification import clarify_card_answers
from runtime.cards import cards
from runtime.cards.answers import CardAnswers, answer_card
from runtime.cards.cards import Card
from runtime.commands import control, withdrawal
from runtime.inbox.messages import Message
from runtime.statuses import CardKind
from runtime.tasks.tasks import Task
from tests.router.world import RouterWorld, scripted, verdict
from tests.support.databases import Store


def asked(store: Store) -> tuple[RouterWorld, Message, Card, Task, Task]:
    world, _ = scripted(store)
    one, other = world.task("Posters for the harbour"), world.task("Posters for the jazz club")
    world.foresee(verdict("ask", candidates=[{"task_id": task.id, "score": 0.6} for task in (one, other)]))
    message = world.route(world.say("Change last time's set"))
    with store.database.reading(store.workspace_id) as scope:
        (card,) = cards.list_open_cards(scope)
    return world, message, card, one, other


def answer(world: RouterWorld, card: Card, option: str) -> Card:
    answers = CardAnswers(clarify_card_answers(world.dependencies.works))
    with world.store.database.transaction(world.workspace_id) as scope:
        return answer_card(scope, card.id, option, None, world.store.person_id, answers)


def test_the_chosen_task_gets_the_message(store: Store) -> None:
    world, message, card, _, other = asked(store)
    answer(world, card, other.id)
    assert world.message(message.id).state == "delivered"
    assert world.inbox_of(other.id) == [(message.id, "delivered")]
    assert world.open_turns() == [(other.id, None)]
    route = world.stored_route(message)
    assert (route["outcome"], route["task_id"]) == ("existing", other.id)
    assert "the person chose it" in route["reasons"][-1]


def test_new_makes_a_task_once(store: Store) -> None:
    world, message, card, _, _ = asked(store)
    answer(world, card, "new")
    task = world.get_task(world.message(message.id).task_id)
    assert task.goal == "Change last time's set"
    with pytest.raises(ConflictError):
        answer(world, card, "new")
    assert len(world.all_tasks()) == 3


def test_an_option_that_was_not_offered_is_none(store: Store) -> None:
    world, _, card, _, _ = asked(store)
    stranger = world.task("Something else")
    with pytest.raises(InvalidError):
        answer(world, card, stranger.id)


def test_a_task_that_ended_meanwhile_leaves_the_card_open(store: Store) -> None:
    world, message, card, one, other = asked(store)
    with store.database.transaction(store.workspace_id) as scope:
        control.archive_task(scope, one.id)
    with pytest.raises(ConflictError, match="archived"):
        answer(world, card, one.id)
    # the choice was not used up
    answer(world, card, other.id)
    assert world.message(message.id).task_id == other.id


def test_a_message_taken_back_meanwhile_goes_nowhere(store: Store) -> None:
    world, message, card, one, _ = asked(store)
    with store.database.transaction(store.workspace_id) as scope:
        withdrawal.withdraw_message(scope, message.id)
    with pytest.raises(ConflictError, match="taken back"):
        answer(world, card, one.id)
    assert world.inbox_of(one.id) == []
    assert world.message(message.id).state == "withdrawn"


def test_a_workers_own_question_goes_back_to_its_task(store: Store) -> None:
    world, _ = scripted(store)
    task = world.task("Posters")
    with store.database.transaction(store.workspace_id) as scope:
        card = cards.open_card(
            scope,
            kind=CardKind.CLARIFY,
            title="Which blue?",
            body="",
            options=[{"id": "navy", "label": "Navy"}],
            cause="call",
            task_id=task.id,
        )
    answer(world, card, "navy")
    assert world.inbox_of(task.id) == [(card.id, "delivered")]

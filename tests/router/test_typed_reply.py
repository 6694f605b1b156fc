"""A typed reply to a `clarify` card answers it; a message that is taken back takes its question along."""

from __future__ import annotations

from functools import partial

import pytest

from core.errors import ConflictError
from core.llm.scripted_model import ScriptedModel, says
from runtime.cards import cards
from runtime.cards.cards import Card
from runtime.commands import control, withdrawal
from runtime.statuses import CardKind, WaitKind
from runtime.tasks import tasks, waits
from tests.router.test_clarify import answer, asked
from tests.router.world import scripted, verdict
from tests.runtime.turn_driver import drive_turn, newest_turn, runtime_dependencies
from tests.support.databases import Store
from tests.support.message_replies import replies_to


def card_of(store: Store, card_id: str) -> Card:
    with store.database.reading(store.workspace_id) as scope:
        return cards.get_card(scope, card_id)


@pytest.mark.parametrize("names_the_card", [True, False])
@pytest.mark.parametrize("words", ["the second one", "Posters for the jazz club"])
def test_a_reply_that_names_an_option_answers_without_a_model(store: Store, words: str, names_the_card: bool) -> None:
    world, message, card, _, other = asked(store)
    reply = world.route(world.say(words, **({"to_card_id": card.id} if names_the_card else {})))

    closed = card_of(store, card.id)
    assert (closed.state, closed.answer_option, closed.answer_text) == ("answered", other.id, words)
    assert world.message(message.id).task_id == other.id
    assert (reply.state, reply.task_id, reply.to_card_id) == ("answered", other.id, card.id)
    assert world.inbox_of(other.id) == [(message.id, "delivered")]
    assert len(world.all_tasks()) == 2


def test_a_reply_of_new_makes_one_task(store: Store) -> None:
    world, message, card, _, _ = asked(store)
    reply = world.route(world.say("something new", to_card_id=card.id))
    task = world.get_task(world.message(message.id).task_id)
    assert task.goal == "Change last time's set"
    assert reply.task_id == task.id
    assert len(world.all_tasks()) == 3


def test_a_reply_that_says_more_is_judged_among_the_offered_and_reaches_the_task(store: Store) -> None:
    world, message, card, one, _ = asked(store)
    world.foresee(verdict("existing", task_id=one.id))
    reply = world.route(world.say("Those with the boats, and make them navy", to_card_id=card.id))
    assert card_of(store, card.id).answer_option == one.id
    assert world.inbox_of(one.id) == [(message.id, "delivered"), (reply.id, "delivered")]
    assert reply.state == "delivered"


def test_a_reply_nobody_understands_leaves_the_card_open_and_asks_no_second_one(store: Store) -> None:
    world, message, card, _, _ = asked(store)
    stranger = world.task("Something else")
    world.foresee(verdict("existing", task_id=stranger.id))
    reply = world.route(world.say("Hm, what do you think?", to_card_id=card.id))
    assert card_of(store, card.id).state == "open"
    assert reply.state == "answered"
    assert world.message(message.id).state == "routed"
    with store.database.reading(store.workspace_id) as scope:
        assert [one.id for one in cards.list_open_cards(scope)] == [card.id]
        assert [one.text for one in replies_to(scope, reply.id)] == ["Where does this belong?"]


def test_a_reply_after_the_press_follows_to_the_chosen_task(store: Store) -> None:
    world, _, card, _, other = asked(store)
    answer(world, card, other.id)
    reply = world.route(world.say("the first one", to_card_id=card.id))
    assert (reply.state, reply.task_id) == ("delivered", other.id)
    assert card_of(store, card.id).answer_option == other.id


def test_a_reply_that_names_a_stopped_task_changes_nothing(store: Store) -> None:
    world, _, card, one, _ = asked(store)
    with store.database.transaction(store.workspace_id) as scope:
        control.stop_task(scope, one.id)
    reply = world.route(world.say("the first one", to_card_id=card.id))
    assert card_of(store, card.id).state == "open"
    assert reply.state == "answered"


def test_withdrawing_or_replacing_the_message_voids_its_question(store: Store) -> None:
    replace = partial(withdrawal.replace_message, text="Something else", person_id=store.person_id, speaks_as="person")
    for change in (withdrawal.withdraw_message, replace):
        world, message, card, one, _ = asked(store)
        with store.database.transaction(store.workspace_id) as scope:
            change(scope, message.id)
        assert card_of(store, card.id).state == "void"
        with pytest.raises(ConflictError):
            answer(world, card, one.id)
        store.empty()
        store.fill()


@pytest.mark.parametrize("names_the_card", [True, False])
def test_a_reply_to_a_workers_question_closes_it_and_is_read_once(store: Store, names_the_card: bool) -> None:
    """In the task's own panel the card need not be named."""
    world, _ = scripted(store)
    task = world.task("Posters")
    options = [{"id": "navy", "label": "Navy and cream"}, {"id": "red", "label": "Red"}]
    with store.database.transaction(store.workspace_id) as scope:
        card = cards.open_card(
            scope, kind=CardKind.CLARIFY, title="Which?", body="", options=options, cause="c", task_id=task.id
        )
        tasks.set_task_fields(scope, task.id, status="waiting")
    target = {"to_card_id": card.id} if names_the_card else {"to_task_id": task.id}
    reply = world.route(world.say("Red, and a little darker", **target))

    closed = card_of(store, card.id)
    assert (closed.state, closed.answer_option, closed.answer_text) == ("answered", None, "Red, and a little darker")
    model = ScriptedModel(says("Red it is."))
    assert drive_turn(runtime_dependencies(store, model), store, newest_turn(store, task.id).id) == "completed"
    shown = str(model.requests[-1])
    assert (shown.count("a little darker"), card.id in shown) == (1, True)
    assert world.message(reply.id).state == "answered"


@pytest.mark.boundary(10)
@pytest.mark.parametrize("replaced", [False, True])
def test_question_that_a_message_had_answered_asks_again_when_it_is_withdrawn(store: Store, replaced: bool) -> None:
    world, _ = scripted(store)
    task = world.task("Posters")
    first = world.route(world.say("Make them", to_task_id=task.id))
    drive_turn(runtime_dependencies(store, ScriptedModel(says("ok"))), store, newest_turn(store, task.id).id)
    with store.database.transaction(store.workspace_id) as scope:
        card = cards.open_card(
            scope,
            kind=CardKind.CLARIFY,
            title="Which?",
            body="",
            options=cards.RESULT_OPTIONS,
            cause="c",
            task_id=task.id,
        )
        waits.begin_wait(scope, task.id, newest_turn(store, task.id).id, WaitKind.CARD, [card.id])
        tasks.set_task_fields(scope, task.id, status="waiting")
    reply = world.route(world.say("Red ones", to_card_id=card.id))
    assert card_of(store, card.id).state == "answered"

    with store.database.transaction(store.workspace_id) as scope:
        if replaced:
            instead = withdrawal.replace_message(
                scope, reply.id, "Blue ones", person_id=store.person_id, speaks_as="person"
            )
        else:
            withdrawal.withdraw_message(scope, reply.id)

    asks = card_of(store, card.id)
    assert (asks.state, asks.answer_text, asks.answered_by) == ("open", None, None)
    assert (
        drive_turn(runtime_dependencies(store, ScriptedModel()), store, newest_turn(store, task.id).id, "run-2")
        == "stopped"
    )
    assert world.get_task(task.id).status == "waiting"
    assert world.message(first.id).state == "answered"
    if replaced:
        world.route(instead)
        assert card_of(store, card.id).answer_text == "Blue ones"


def test_words_do_not_press_what_costs_or_destroys(store: Store) -> None:
    world, _ = scripted(store)
    task = world.task("Posters")
    with store.database.transaction(store.workspace_id) as scope:
        opened = [
            cards.open_card(
                scope, kind=CardKind(kind), title="?", body="", options=options, cause=kind, task_id=task.id
            )
            for kind, options in (
                ("quote", cards.QUOTE_OPTIONS),
                ("irreversible", cards.IRREVERSIBLE_OPTIONS),
                ("limit", cards.LIMIT_OPTIONS),
            )
        ]
    for card in opened:
        world.route(world.say(str(card.options[0]["label"]), to_card_id=card.id))
        world.route(world.say(str(card.options[0]["label"]), to_task_id=task.id))
    assert {card_of(store, card.id).state for card in opened} == {"open"}


def test_other_words_in_main_are_routed_as_ever(store: Store) -> None:
    world, _, card, _, _ = asked(store)
    world.foresee(verdict("main"))
    world.route(world.say("Which video lengths can you do?"))
    assert card_of(store, card.id).state == "open"
    assert len(world.open_turns()) == 1

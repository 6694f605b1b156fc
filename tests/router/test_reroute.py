"""A person corrects where a message went."""

from __future__ import annotations

import pytest

from core.errors import ConflictError, InvalidError, NotFoundError
from router.reroute import reroute_message
from runtime.cards import cards
from runtime.commands import control, withdrawal
from runtime.inbox import inbox, messages
from runtime.inbox.messages import Message
from runtime.tables import turns
from tests.router.world import RouterWorld, scripted, verdict
from tests.support.databases import Store

pytestmark = pytest.mark.boundary(7)


def move(world: RouterWorld, message: Message, target: str) -> Message:
    with world.store.database.transaction(world.workspace_id) as scope:
        return reroute_message(scope, world.dependencies.works, message.id, target)


def test_an_unread_message_moves_and_the_task_made_for_it_is_put_away(store: Store) -> None:
    world, _ = scripted(store, verdict("new"))
    right = world.task("Posters for the harbour")
    message = world.route(world.say("please make the set warmer than it was"))
    wrong = world.get_task(message.task_id)
    moved = move(world, message, right.id)
    assert (moved.task_id, moved.state) == (right.id, "delivered")
    assert world.inbox_of(wrong.id) == [(message.id, "moved")]
    assert world.inbox_of(right.id) == [(message.id, "delivered")]
    assert world.get_task(wrong.id).status == "archived"
    assert (right.id, None) in world.open_turns()
    assert (wrong.id, None) not in world.open_turns()
    route = world.stored_route(message)
    assert (route["outcome"], route["task_id"]) == ("existing", right.id)


def test_a_message_moves_to_a_task_of_its_own(store: Store) -> None:
    world, _ = scripted(store)
    wrong = world.task("Posters for the harbour")
    message = world.route(world.say("a logo for the bakery", to_task_id=wrong.id))
    moved = move(world, message, "new")
    task = world.get_task(moved.task_id)
    assert task.id != wrong.id
    assert task.goal == "a logo for the bakery"
    assert world.get_task(wrong.id).status == "active"
    assert world.stored_route(message)["outcome"] == "new"


def test_a_message_that_a_stopped_task_never_read_can_still_be_moved(store: Store) -> None:
    world, _ = scripted(store)
    wrong, right = world.task("Posters"), world.task("Films")
    message = world.route(world.say("a film of the harbour", to_task_id=wrong.id))
    with store.database.transaction(world.workspace_id) as scope:
        control.stop_task(scope, wrong.id)

    moved = move(world, message, right.id)

    assert (moved.task_id, moved.state) == (right.id, "delivered")
    assert world.inbox_of(right.id) == [(message.id, "delivered")]
    assert world.get_task(wrong.id).status == "stopped"


def test_new_twice_makes_two_tasks_and_never_reuses_the_first(store: Store) -> None:
    world, _ = scripted(store, verdict("new"))
    message = world.route(world.say("a logo for the bakery, please make it"))
    first = message.task_id
    moved = move(world, message, "new")
    assert moved.task_id != first
    assert world.inbox_of(moved.task_id) == [(message.id, "delivered")]


def test_what_a_step_has_read_stays_and_is_named(store: Store) -> None:
    world, _ = scripted(store)
    wrong, right = world.task("Posters"), world.task("Films")
    message = world.route(world.say("make it blue", to_task_id=wrong.id))
    with store.database.transaction(store.workspace_id) as scope:
        turn_id = scope.scalar(scope.select(turns.c.id).where(turns.c.task_id == wrong.id))
        inbox.consume_inbox(scope, inbox.claim_inbox(scope, wrong.id, turn_id, 1), turn_id, 1)
    with pytest.raises(ConflictError) as caught:
        move(world, message, right.id)
    assert caught.value.facts() == {"state": "consumed", "turn_id": turn_id, "step": 1, "calls": []}
    assert world.inbox_of(right.id) == []
    assert world.message(message.id).task_id == wrong.id


def test_mains_question_moves_while_nobody_has_begun_to_answer(store: Store) -> None:
    world, _ = scripted(store, verdict("main"), verdict("main"))
    task = world.task("Posters")
    message = world.route(world.say("how about blue for all of them?"))
    assert move(world, message, task.id).task_id == task.id
    assert world.open_turns() == [(task.id, None)]
    late = world.route(world.say("and how about green for all of them?"))
    with store.database.transaction(store.workspace_id) as scope:
        scope.change(scope.update(turns).where(turns.c.message_id == late.id).values(status="running"))
    with pytest.raises(ConflictError):
        move(world, late, task.id)


def test_a_message_nobody_has_routed_yet_goes_straight_there(store: Store) -> None:
    world, model = scripted(store)
    task = world.task("Posters")
    message = move(world, world.say("make it blue"), task.id)
    assert (message.state, message.task_id) == ("delivered", task.id)
    # its bell finds nothing left to do
    assert world.route(message).state == "delivered"
    assert world.inbox_of(task.id) == [(message.id, "delivered")]
    assert model.requests == []


def test_the_question_on_the_card_is_answered_by_the_move(store: Store) -> None:
    world, _ = scripted(store)
    task = world.task("Posters")
    world.foresee(verdict("ask", candidates=[{"task_id": task.id, "score": 0.5}]))
    message = world.route(world.say("change last time's set"))
    move(world, message, task.id)
    with store.database.reading(store.workspace_id) as scope:
        assert cards.list_open_cards(scope) == []
    assert world.message(message.id).task_id == task.id


def test_targets_that_cannot_take_it(store: Store) -> None:
    world, _ = scripted(store)
    wrong, ended = world.task("Posters"), world.task("Old posters", status="archived")
    message = world.route(world.say("make it blue", to_task_id=wrong.id))
    with pytest.raises(ConflictError, match="archived"):
        move(world, message, ended.id)
    with pytest.raises(NotFoundError):
        move(world, message, "task_nowhere")
    assert move(world, message, wrong.id).state == "delivered"
    assert world.inbox_of(wrong.id) == [(message.id, "delivered")]


def test_a_message_can_come_back_to_a_task_it_left(store: Store) -> None:
    world, _ = scripted(store)
    one, other = world.task("Posters"), world.task("Films")
    message = world.route(world.say("make it blue", to_task_id=one.id))
    move(world, message, other.id)
    back = move(world, message, one.id)
    assert (back.state, back.task_id) == ("delivered", one.id)
    assert world.inbox_of(one.id) == [(message.id, "delivered")]


def test_a_message_that_comes_back_has_been_tried_by_no_step(store: Store) -> None:
    # Given a message that a step has claimed and given back, since the model did not answer
    world, _ = scripted(store)
    one, other = world.task("Posters"), world.task("Films")
    message = world.route(world.say("make it blue", to_task_id=one.id))
    with store.database.transaction(store.workspace_id) as scope:
        turn_id = scope.scalar(scope.select(turns.c.id).where(turns.c.task_id == one.id))
        inbox.claim_inbox(scope, one.id, turn_id, 1)
        inbox.unclaim_inbox(scope, one.id)
    began = store.clock.now()
    world.tick()

    # When it is moved away and comes back while that turn still runs
    move(world, move(world, message, other.id), one.id)

    # Then a turn of its own is due for it
    with store.database.reading(store.workspace_id) as scope:
        assert inbox.find_untried_input(scope, one.id, turn_id, began) is not None


def test_a_moved_message_can_still_be_taken_back(store: Store) -> None:
    world, _ = scripted(store)
    one, other = world.task("Posters"), world.task("Films")
    message = world.route(world.say("make it blue", to_task_id=one.id))
    move(world, message, other.id)
    with store.database.transaction(store.workspace_id) as scope:
        assert withdrawal.withdraw_message(scope, message.id).state == "withdrawn"
    assert world.inbox_of(other.id) == [(message.id, "withdrawn")]
    with pytest.raises(ConflictError):
        move(world, message, one.id)


def test_the_agents_own_words_do_not_move(store: Store) -> None:
    world, _ = scripted(store)
    task = world.task("Posters")
    with store.database.transaction(store.workspace_id) as scope:
        message = messages.store_agent_message(
            scope,
            person_id=store.person_id,
            text="Done",
            task_id=None,
            reply_to=None,
            cause="c",
            language="en",
        )
    with pytest.raises(InvalidError):
        move(world, message, task.id)

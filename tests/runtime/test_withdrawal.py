"""Withdrawal of messages before a step has read them: nothing is asked, made or paid for because of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from core.llm.scripted_model import ScriptedModel, says
from core.tools import CallContext, Effect
from runtime import recovery
from runtime.cards import cards
from runtime.commands import control, withdrawal
from runtime.inbox import inbox, messages
from runtime.loop import turn_end
from runtime.statuses import InputKind, MessageState
from runtime.tables import inbox as inbox_rows
from runtime.tasks import tasks, waits
from tests.runtime.turn_driver import (
    LEASE,
    Note,
    drive_turn,
    get_message,
    get_task,
    get_turn,
    new_task,
    newest_turn,
    post_words,
    runtime_dependencies,
)
from tests.support.databases import Store

OLD, NEW = "Make two posters of a cat", "Make one poster of a dog"


def _withdraw(store: Store, message_id: str) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        withdrawal.withdraw_message(scope, message_id)


def _replace(store: Store, message_id: str, text: str = NEW) -> str:
    with store.database.transaction(store.workspace_id) as scope:
        return withdrawal.replace_message(scope, message_id, text, person_id=store.person_id, speaks_as="person").id


def _deliver(store: Store, message_id: str, task_id: str) -> None:
    """What the router does with words that stand in the place of others."""
    with store.database.transaction(store.workspace_id) as scope:
        messages.set_message_state(
            scope, message_id, MessageState.DELIVERED, was=(MessageState.RECEIVED,), task_id=task_id
        )
        inbox.deliver_input(scope, task_id, InputKind.MESSAGE, message_id)


def _told(store: Store, kind: str = "persistent") -> tuple[str, str]:
    """A task made of a message, as the router makes it; answers its id and the message's."""
    with store.database.transaction(store.workspace_id) as scope:
        message = messages.receive_message(
            scope, person_id=store.person_id, asked_by="person", channel_id=None, text=OLD
        )
        task = tasks.create_task(
            scope, kind=kind, goal=OLD, language="en", person_id=store.person_id, asked_by="person", cause=message.id
        )
        messages.set_message_state(scope, message.id, MessageState.ROUTED, was=(MessageState.RECEIVED,))
        messages.set_message_state(
            scope, message.id, MessageState.DELIVERED, was=(MessageState.ROUTED,), task_id=task.id
        )
        inbox.deliver_input(scope, task.id, InputKind.MESSAGE, message.id)
    return task.id, message.id


@pytest.mark.boundary(10)
@pytest.mark.parametrize("kind", ["light", "persistent"])
def test_message_replaced_before_the_claim_asks_no_model_and_the_new_one_is_the_goal(store: Store, kind: str) -> None:
    task_id, said = _told(store, kind)
    instead = _replace(store, said)
    spend = Note("spend", effect=Effect.PAID)
    first = newest_turn(store, task_id).id

    assert drive_turn(runtime_dependencies(store, ScriptedModel(), spend), store, first) == "stopped"
    assert (get_task(store, task_id).status, get_task(store, task_id).goal) == ("active", NEW)
    _deliver(store, instead, task_id)
    model = ScriptedModel(says("", ("spend", "{}")), says("Here it is."))
    second = newest_turn(store, task_id).id
    assert drive_turn(runtime_dependencies(store, model, spend), store, second, "run-2") == "completed"

    assert spend.ran == [f"{second}:1:0"]
    assert OLD not in str(model.requests)
    assert get_message(store, instead).state == "answered"


@pytest.mark.boundary(10)
def test_message_replaced_twice_leaves_the_last_one_as_the_goal(store: Store) -> None:
    task_id, said = _told(store)
    _replace(store, _replace(store, said), "Make none")

    assert get_task(store, task_id).goal == "Make none"


@pytest.mark.boundary(10)
def test_withdrawn_follow_up_in_the_same_words_leaves_the_goal(store: Store) -> None:
    # Given a task whose words stand unread, and the same words sent to it once more
    task_id, _ = _told(store)
    again = post_words(store, task_id, OLD)

    # When only the second ones are replaced
    _replace(store, again)

    # Then the task is for what it was made for
    assert get_task(store, task_id).goal == OLD


@pytest.mark.boundary(10)
def test_replacement_that_is_withdrawn_before_it_arrives_stops_the_task(store: Store) -> None:
    task_id, said = _told(store)
    instead = _replace(store, said)
    assert drive_turn(runtime_dependencies(store, ScriptedModel()), store, newest_turn(store, task_id).id) == "stopped"
    _withdraw(store, instead)
    store.clock.advance(timedelta(seconds=11))

    recovery.recover_workspace(store.database, store.workspace_id, timedelta(seconds=10), LEASE)

    assert get_task(store, task_id).status == "stopped"


@pytest.mark.boundary(10)
def test_replaced_follow_up_leaves_the_goal_of_a_task_that_has_read(store: Store) -> None:
    task_id, _ = _told(store)
    drive_turn(runtime_dependencies(store, ScriptedModel(says("ok"))), store, newest_turn(store, task_id).id)
    again = post_words(store, task_id, OLD)

    _replace(store, again)

    assert get_task(store, task_id).goal == OLD


@pytest.mark.boundary(10)
@pytest.mark.parametrize("take_back", [_withdraw, _replace])
def test_withdrawn_follow_up_leaves_a_done_task_done(store: Store, take_back: Callable[[Store, str], object]) -> None:
    task_id, _ = _told(store)
    drive_turn(runtime_dependencies(store, ScriptedModel(says("ok"))), store, newest_turn(store, task_id).id)
    more = post_words(store, task_id, "and another one")
    assert get_task(store, task_id).status == "active"
    take_back(store, more)
    spend = Note("spend", effect=Effect.PAID)
    woken = newest_turn(store, task_id).id

    assert drive_turn(runtime_dependencies(store, ScriptedModel(), spend), store, woken, "run-2") == "stopped"

    assert get_task(store, task_id).status == "done"
    assert newest_turn(store, task_id).id == woken


@pytest.mark.boundary(10)
def test_withdrawn_follow_up_leaves_a_task_waiting_for_its_orders(store: Store) -> None:
    task_id, _ = _told(store)
    dependencies = runtime_dependencies(
        store, ScriptedModel(says("on its way")), open_orders=lambda _scope, _task: ("order-1",)
    )
    assert drive_turn(dependencies, store, newest_turn(store, task_id).id) == "waiting"
    _withdraw(store, post_words(store, task_id, "and another one"))

    assert (
        drive_turn(runtime_dependencies(store, ScriptedModel()), store, newest_turn(store, task_id).id, "run-2")
        == "stopped"
    )

    assert get_task(store, task_id).status == "waiting"
    with store.database.reading(store.workspace_id) as scope:
        wait = waits.find_wait(scope, task_id)
    assert wait is not None
    assert wait.refs == ("order-1",)


@pytest.mark.boundary(10)
def test_withdrawn_follow_up_leaves_a_blocked_task_asking(store: Store) -> None:
    task_id, _ = _told(store)
    first = newest_turn(store, task_id).id
    dependencies = runtime_dependencies(store, ScriptedModel(says("", ("note", "{}"))), Note())
    with pytest.raises(AssertionError):
        drive_turn(dependencies, store, first, most=1)
    assert turn_end.fail_turn(dependencies, store.workspace_id, first, "run-1", "the model is away")
    _withdraw(store, post_words(store, task_id, "try it this way"))

    assert (
        drive_turn(runtime_dependencies(store, ScriptedModel()), store, newest_turn(store, task_id).id, "run-2")
        == "stopped"
    )

    assert (get_task(store, task_id).status, get_task(store, task_id).reason) == ("blocked", "the model is away")
    with store.database.reading(store.workspace_id) as scope:
        assert [card.kind for card in cards.list_open_cards(scope, task_id)] == ["blocked"]


@pytest.mark.boundary(10)
def test_message_that_came_during_a_turn_and_was_withdrawn_after_it_asks_no_model(store: Store) -> None:
    task_id, _ = _told(store)
    late: list[str] = []

    def speak(_call: CallContext) -> None:
        late.append(post_words(store, task_id, "and another one"))

    model = ScriptedModel(says("", ("finish", '{"summary": "Done."}'), ("note", "{}")))
    note = Note(during=speak)
    drive_turn(runtime_dependencies(store, model, note), store, newest_turn(store, task_id).id)
    after = newest_turn(store, task_id).id
    assert get_turn(store, after).status == "queued"
    _withdraw(store, late[0])

    drive_turn(runtime_dependencies(store, ScriptedModel()), store, after, "run-2")

    assert get_task(store, task_id).status == "done"
    assert newest_turn(store, task_id).id == after


@pytest.mark.boundary(10)
def test_other_messages_are_read_where_one_was_withdrawn(store: Store) -> None:
    task_id, said = _told(store)
    kept = post_words(store, task_id, "in red")
    _replace(store, said)

    assert (
        drive_turn(runtime_dependencies(store, ScriptedModel(says("ok"))), store, newest_turn(store, task_id).id)
        == "completed"
    )

    assert get_message(store, kept).state == "answered"


@pytest.mark.boundary(10)
def test_resumed_task_works_on_without_a_message(store: Store) -> None:
    task_id, _ = _told(store)
    drive_turn(runtime_dependencies(store, ScriptedModel(says("ok"))), store, newest_turn(store, task_id).id)
    with store.database.transaction(store.workspace_id) as scope:
        tasks.set_task_fields(scope, task_id, status="paused")
        control.resume_task(scope, task_id)
    model = ScriptedModel(says("on it"))

    assert drive_turn(runtime_dependencies(store, model), store, newest_turn(store, task_id).id, "run-2") == "completed"
    assert len(model.requests) == 1


def test_word_moved_to_another_task_leaves_nothing_to_do_in_the_first(store: Store) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")
    with store.database.transaction(store.workspace_id) as scope:
        scope.change(scope.update(inbox_rows).values(state="moved"))

    assert drive_turn(runtime_dependencies(store, ScriptedModel()), store, newest_turn(store, task.id).id) == "stopped"

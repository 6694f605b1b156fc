"""Replies go to every place where the messages they answer came from, and each of them names the reply."""

from __future__ import annotations

import pytest

from core.llm.scripted_model import ScriptedModel, says
from runtime.inbox import inbox, messages
from runtime.inbox.messages import Message
from runtime.statuses import InputKind, MessageState
from tests.runtime.turn_driver import drive_turn, new_task, newest_turn, runtime_dependencies
from tests.support.databases import Store
from tests.support.message_replies import replies_to


def _tell(store: Store, task_id: str, channel_id: str | None, text: str, person_id: str | None = None) -> str:
    with store.database.transaction(store.workspace_id) as scope:
        message = messages.receive_message(
            scope,
            person_id=person_id or store.person_id,
            asked_by="person",
            channel_id=channel_id,
            text=text,
            to_task_id=task_id,
        )
        messages.set_message_state(
            scope, message.id, MessageState.DELIVERED, was=(MessageState.RECEIVED,), task_id=task_id
        )
        inbox.deliver_input(scope, task_id, InputKind.MESSAGE, message.id)
    return message.id


def _replies(store: Store, message_id: str) -> list[Message]:
    with store.database.reading(store.workspace_id) as scope:
        assert messages.get_message(scope, message_id).state == "answered"
        return replies_to(scope, message_id)


def _said(store: Store, task_id: str) -> list[Message]:
    with store.database.reading(store.workspace_id) as scope:
        return [one for one in messages.list_task_messages(scope, task_id) if one.author == "agent"]


def test_reply_goes_to_each_channel_once_and_each_message_names_its_own(store: Store) -> None:
    task = new_task(store)
    channels = ("chan_a", "chan_b", None, "chan_a")
    asked = [_tell(store, task.id, channel, f"message {n}") for n, channel in enumerate(channels)]

    drive_turn(runtime_dependencies(store, ScriptedModel(says("Here it is."))), store, newest_turn(store, task.id).id)

    replies = [_replies(store, one) for one in asked]
    assert [[(one.channel_id, one.text) for one in each] for each in replies] == [
        [(channel, "Here it is.")] for channel in channels
    ]
    assert replies[0][0].id == replies[3][0].id
    assert len(_said(store, task.id)) == 3


def test_reply_in_the_pages_is_one_for_all_that_were_read(store: Store) -> None:
    task = new_task(store)
    asked = [_tell(store, task.id, None, f"message {n}") for n in range(3)]

    drive_turn(runtime_dependencies(store, ScriptedModel(says("Here it is."))), store, newest_turn(store, task.id).id)

    (said,) = _said(store, task.id)
    assert said.reply_to == asked[-1]
    assert [[one.id for one in _replies(store, message_id)] for message_id in asked] == [[said.id]] * 3


def test_two_people_on_one_channel_are_each_answered(store: Store) -> None:
    task = new_task(store)
    mine = _tell(store, task.id, "chan_a", "one")
    theirs = _tell(store, task.id, "chan_a", "two", person_id="person_other")

    drive_turn(runtime_dependencies(store, ScriptedModel(says("Here it is."))), store, newest_turn(store, task.id).id)

    assert [[one.person_id for one in _replies(store, said)] for said in (mine, theirs)] == [
        [store.person_id],
        ["person_other"],
    ]


def test_reply_of_a_later_turn_is_none_to_what_an_earlier_one_has_answered(store: Store) -> None:
    task = new_task(store)
    first = _tell(store, task.id, "chan_a", "one")
    drive_turn(runtime_dependencies(store, ScriptedModel(says("First."))), store, newest_turn(store, task.id).id)
    second = _tell(store, task.id, "chan_b", "two")
    drive_turn(
        runtime_dependencies(store, ScriptedModel(says("Second."))), store, newest_turn(store, task.id).id, "run-2"
    )

    assert [[one.text for one in _replies(store, said)] for said in (first, second)] == [["First."], ["Second."]]


@pytest.mark.parametrize("closed", [1, 2])
def test_reply_to_several_places_is_said_once_however_often_the_turn_is_closed(store: Store, closed: int) -> None:
    task = new_task(store)
    for channel in ("chan_a", "chan_b"):
        _tell(store, task.id, channel, "go")
    turn_id = newest_turn(store, task.id).id
    dependencies = runtime_dependencies(store, ScriptedModel(says("Here it is.")))

    for _ in range(closed):
        drive_turn(dependencies, store, turn_id)

    assert sorted(str(one.channel_id) for one in _said(store, task.id)) == ["chan_a", "chan_b"]

"""A call whose outcome is unknown is looked up by what stands under its id, and only by its own task."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.llm.scripted_model import ScriptedModel, says
from core.tools import CallContext
from runtime import notices
from runtime.cards import cards
from runtime.inbox import messages
from runtime.loop import decision, entry, tool_call
from runtime.statuses import CardKind
from runtime.turns import ledger_queries
from tests.runtime.turn_driver import Note, drive_turn, new_task, newest_turn, post_words, runtime_dependencies
from tests.support.databases import Store


class DiedError(Exception):
    """The process ends here."""


def _leave_a_card(call: CallContext) -> None:
    with call.transaction() as scope:
        for cause in (call.call_id, f"{call.call_id}:quote"):
            cards.open_card(
                scope,
                kind=CardKind.RESULT,
                title="?",
                body="",
                options=cards.RESULT_OPTIONS,
                cause=cause,
                task_id=call.task_id,
            )


def _tell(call: CallContext) -> None:
    with call.transaction() as scope:
        notices.store_notice(scope, "person", "It is sent.", call.call_id, call.task_id)
        messages.store_agent_message(
            scope,
            person_id=call.person_id,
            text="It is sent.",
            task_id=call.task_id,
            reply_to=None,
            cause=call.call_id,
            language="en",
        )


def _nothing(_call: CallContext) -> None:
    return


@pytest.mark.boundary(14)
@pytest.mark.parametrize(
    ("effect", "outcome", "kinds"),
    [
        (_leave_a_card, "done_with_effects", ["card", "card"]),
        (_tell, "done_with_effects", ["message", "notice"]),
        (_nothing, "nothing_found", []),
    ],
)
def test_unknown_outcome_names_what_the_call_has_left(
    store: Store, effect: Any, outcome: str, kinds: list[str]
) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id

    def act_and_die(call: CallContext) -> None:
        if call.call_id.endswith(":0"):
            effect(call)
            raise DiedError

    note = Note(repeatable=False, during=act_and_die)
    look = ("check_call", json.dumps({"call_id": f"{turn_id}:1:0"}))
    dependencies = runtime_dependencies(
        store, ScriptedModel(says("", ("note", "{}"), ("note", "{}")), says("", look), says("ok")), note
    )
    entry.open_turn(dependencies, store.workspace_id, turn_id, "run-1")
    decision.decide_step(dependencies, store.workspace_id, turn_id, "run-1", 1)
    with pytest.raises(DiedError):
        tool_call.run_call(dependencies, store.workspace_id, turn_id, "run-1", 1, 0)
    assert drive_turn(dependencies, store, turn_id) in ("completed", "gated")

    with store.database.reading(store.workspace_id) as scope:
        looked = ledger_queries.get_call(scope, f"{turn_id}:2:0")
    assert note.ran == [f"{turn_id}:1:0", f"{turn_id}:1:1"]
    assert looked.result is not None
    assert (looked.result["status"], looked.result["outcome"]) == ("outcome_unknown", outcome)
    assert [one["kind"] for one in looked.result["effects"]] == kinds


@pytest.mark.parametrize("tool", ["check_call", "read_back"])
def test_call_of_another_task_is_not_shown(store: Store, tool: str) -> None:
    others = new_task(store, "another")
    post_words(store, others.id, "go")
    other_turn = newest_turn(store, others.id).id
    drive_turn(
        runtime_dependencies(store, ScriptedModel(says("", ("note", '{"text": "private"}')), says("ok")), Note()),
        store,
        other_turn,
    )
    mine = new_task(store)
    post_words(store, mine.id, "go")
    turn_id = newest_turn(store, mine.id).id
    argument = {"check_call": "call_id", "read_back": "ref"}[tool]
    look = (tool, json.dumps({argument: f"{other_turn}:1:0"}))

    drive_turn(runtime_dependencies(store, ScriptedModel(says("", look), says("ok"))), store, turn_id)

    with store.database.reading(store.workspace_id) as scope:
        (call,) = ledger_queries.list_calls(scope, [turn_id])
    assert call.status == "failed"
    assert "private" not in json.dumps(call.result)


def test_call_of_an_earlier_turn_of_the_task_is_shown(store: Store) -> None:
    mine = new_task(store)
    post_words(store, mine.id, "go")
    first = newest_turn(store, mine.id).id
    drive_turn(
        runtime_dependencies(store, ScriptedModel(says("", ("note", '{"text": "a"}')), says("ok")), Note()),
        store,
        first,
    )
    post_words(store, mine.id, "look")
    second = newest_turn(store, mine.id).id
    look = ("check_call", json.dumps({"call_id": f"{first}:1:0"}))

    drive_turn(runtime_dependencies(store, ScriptedModel(says("", look), says("ok")), Note()), store, second, "run-2")

    with store.database.reading(store.workspace_id) as scope:
        (call,) = ledger_queries.list_calls(scope, [second])
    assert call.result is not None
    assert (call.result["status"], call.result["result"], call.result["effects"]) == ("done", {"noted": "a"}, [])

"""What a person takes back or stops while work is on its way, and runs that come too late to say that it failed."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import pytest

from core.errors import ModelError, UnavailableError
from core.llm.port import ChatMessage, Decision, ToolSpec
from core.llm.scripted_model import ScriptedModel, says
from core.tools import Effect
from runtime.cards import cards
from runtime.commands import control, withdrawal
from runtime.loop import decision, entry, tool_call, turn_end
from runtime.tasks import tasks
from runtime.turns import ledger_queries, proceed
from tests.runtime.turn_driver import (
    LEASE,
    Note,
    drive_turn,
    get_message,
    get_task,
    get_turn,
    main_turn,
    new_task,
    newest_turn,
    post_words,
    runtime_dependencies,
)
from tests.support.databases import Store
from tests.support.message_replies import replies_to


def _words_to(store: Store, message_id: str) -> list[str]:
    with store.database.reading(store.workspace_id) as scope:
        return [said.text for said in replies_to(scope, message_id)]


@pytest.mark.boundary(46)
def test_task_paused_during_a_turn_rests_after_the_step_and_goes_on_when_resumed(store: Store) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")

    def pause(_call: object) -> None:
        if len(note.ran) == 1:
            with store.database.transaction(store.workspace_id) as scope:
                control.pause_task(scope, task.id)

    note = Note(during=pause)
    model = ScriptedModel(says("", ("note", "{}")), says("done"))
    dependencies = runtime_dependencies(store, model, note)

    assert drive_turn(dependencies, store, newest_turn(store, task.id).id) == "completed"
    assert get_task(store, task.id).status == "paused"
    assert len(model.requests) == 1
    with store.database.transaction(store.workspace_id) as scope:
        control.resume_task(scope, task.id)
    drive_turn(dependencies, store, newest_turn(store, task.id).id, "run-2")
    assert get_task(store, task.id).status == "done"


@pytest.mark.boundary(6)
def test_turn_that_slipped_into_a_stopped_task_asks_no_model(store: Store) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id
    dependencies = runtime_dependencies(store, ScriptedModel())
    entry.open_turn(dependencies, store.workspace_id, turn_id, "run-1")
    with store.database.transaction(store.workspace_id) as scope:
        tasks.set_task_fields(scope, task.id, status="stopped")

    assert decision.decide_step(dependencies, store.workspace_id, turn_id, "run-1", 1).calls == 0
    assert turn_end.close_turn(dependencies, store.workspace_id, turn_id, "run-1") == "completed"
    assert get_task(store, task.id).status == "stopped"


@pytest.mark.boundary(9)
def test_withdrawn_message_to_main_is_not_answered(store: Store) -> None:
    asked, turn_id = main_turn(store, "hello")
    with store.database.transaction(store.workspace_id) as scope:
        withdrawal.withdraw_message(scope, asked)

    assert drive_turn(runtime_dependencies(store, ScriptedModel()), store, turn_id) == "stopped"
    assert _words_to(store, asked) == []


@pytest.mark.boundary(10)
def test_message_to_main_that_is_withdrawn_while_the_model_thinks_is_not_answered(store: Store) -> None:
    asked, turn_id = main_turn(store, "hello")

    class Thinking(ScriptedModel):
        def decide(self, request: Sequence[ChatMessage], tools: Sequence[ToolSpec]) -> Decision:
            with store.database.transaction(store.workspace_id) as scope:
                withdrawal.withdraw_message(scope, asked)
            return super().decide(request, tools)

    assert drive_turn(runtime_dependencies(store, Thinking(says("hi"))), store, turn_id) == "stopped"
    assert (get_message(store, asked).state, _words_to(store, asked)) == ("withdrawn", [])


def test_message_that_a_failed_request_had_claimed_may_be_taken_back(store: Store) -> None:
    task = new_task(store)
    message = post_words(store, task.id, "go")
    dependencies = runtime_dependencies(store, ScriptedModel(UnavailableError("away")))
    turn_id = newest_turn(store, task.id).id
    with pytest.raises(UnavailableError):
        drive_turn(dependencies, store, turn_id)

    with store.database.transaction(store.workspace_id) as scope:
        withdrawal.withdraw_message(scope, message)

    assert get_message(store, message).state == "withdrawn"


def test_main_that_is_answered_nothing_is_told_so(store: Store) -> None:
    asked, turn_id = main_turn(store, "hello")
    dependencies = runtime_dependencies(store, ScriptedModel(says("")))
    with pytest.raises(ModelError):
        drive_turn(dependencies, store, turn_id)

    assert turn_end.fail_turn(dependencies, store.workspace_id, turn_id, "run-1", "the model answered nothing")
    assert _words_to(store, asked) == ["I could not answer this: the model answered nothing"]
    assert get_message(store, asked).state == "answered"


def test_run_that_was_replaced_cannot_fail_the_turn_of_its_successor(store: Store) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id
    dependencies = runtime_dependencies(store, ScriptedModel(says("ok")))
    entry.open_turn(dependencies, store.workspace_id, turn_id, "run-1")
    store.clock.advance(LEASE * 2)
    entry.open_turn(dependencies, store.workspace_id, turn_id, "run-2")

    assert turn_end.fail_turn(dependencies, store.workspace_id, turn_id, "run-1", "gave up") is False
    assert drive_turn(dependencies, store, turn_id, "run-2") == "completed"


def test_failure_hook_says_nothing_while_a_lease_lives(store: Store) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id
    failed: list[bool] = []
    note = Note(
        during=lambda _c: failed.append(
            turn_end.fail_turn(dependencies, store.workspace_id, turn_id, "run-1", "gave up")
        )
    )
    dependencies = runtime_dependencies(store, ScriptedModel(says("", ("note", "{}")), says("done")), note)

    assert drive_turn(dependencies, store, turn_id) == "completed"
    assert failed == [False]


@pytest.mark.case("B63")
def test_same_question_with_the_same_answer_is_cut_and_then_stops_the_turn(store: Store) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")
    note = Note("look", effect=Effect.READ)
    model = ScriptedModel(*[says("", ("look", '{"text": "a"}')) for _ in range(20)])
    dependencies = runtime_dependencies(store, model, note)
    turn_id = newest_turn(store, task.id).id

    with pytest.raises(ModelError, match="look failed 3 times"):
        drive_turn(dependencies, store, turn_id)

    assert len(note.ran) == proceed.MOST_REPEATS
    assert len(model.requests) == 2 * proceed.MOST_REPEATS


def test_question_whose_answer_changes_may_be_asked_again(store: Store) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")
    look = Note("look", effect=Effect.READ)
    steps = [says("", ("look", json.dumps({"text": str(n // 2)}))) for n in range(10)]
    dependencies = runtime_dependencies(store, ScriptedModel(*steps, says("done")), look)

    assert drive_turn(dependencies, store, newest_turn(store, task.id).id) == "completed"
    assert len(look.ran) == 10


@pytest.mark.case("B33")
@pytest.mark.parametrize("arguments", ['{"text": "cut', "[1]", '{"other": 1}', "[" * 3000])
def test_three_equal_bad_calls_stop_the_turn_with_a_reason(store: Store, arguments: str) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")
    model = ScriptedModel(*[says("", ("note", arguments)) for _ in range(4)])
    dependencies = runtime_dependencies(store, model, Note())
    turn_id = newest_turn(store, task.id).id

    with pytest.raises(ModelError) as stuck:
        drive_turn(dependencies, store, turn_id)
    turn_end.fail_turn(dependencies, store.workspace_id, turn_id, "run-1", str(stuck.value))

    assert len(model.requests) == 3
    with store.database.reading(store.workspace_id) as scope:
        (card,) = cards.list_open_cards(scope, task.id)
    assert card.kind == "blocked"
    assert re.fullmatch(r"the same call of note failed 3 times: the arguments .{10,}", card.body)


def test_turn_has_a_last_decision(store: Store) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id
    dependencies = runtime_dependencies(store, ScriptedModel())
    entry.open_turn(dependencies, store.workspace_id, turn_id, "run-1")

    with pytest.raises(ModelError, match="200 decisions"):
        decision.decide_step(dependencies, store.workspace_id, turn_id, "run-1", decision.MOST_DECISIONS_OF_TURN + 1)


def test_decision_of_too_many_calls_is_taken_up_in_part(store: Store) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id
    calls = [("note", json.dumps({"text": str(n)})) for n in range(50)]
    note = Note()

    drive_turn(runtime_dependencies(store, ScriptedModel(says("", *calls), says("done")), note), store, turn_id)

    assert note.ran == [f"{turn_id}:1:{n}" for n in range(decision.MOST_CALLS_OF_DECISION)]


@pytest.mark.case("B34")
def test_every_call_has_one_result_in_order_after_a_stop_between_them(store: Store) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id
    dependencies = runtime_dependencies(
        store, ScriptedModel(says("", *[("note", json.dumps({"text": str(n)})) for n in range(3)])), Note()
    )
    entry.open_turn(dependencies, store.workspace_id, turn_id, "run-1")
    decision.decide_step(dependencies, store.workspace_id, turn_id, "run-1", 1)
    tool_call.run_call(dependencies, store.workspace_id, turn_id, "run-1", 1, 0)
    turn_end.fail_turn(dependencies, store.workspace_id, turn_id, "run-1", "gave up")
    post_words(store, task.id, "again")
    model = ScriptedModel(says("fine"))

    drive_turn(runtime_dependencies(store, model, Note()), store, newest_turn(store, task.id).id, "run-2")

    sent = list(model.requests[0][0])
    at = next(n for n, one in enumerate(sent) if one.get("tool_calls"))
    asked = [call["id"] for call in sent[at]["tool_calls"]]
    assert [one["tool_call_id"] for one in sent[at + 1 : at + 4]] == asked
    assert [json.loads(one["content"]).get("status", "done") for one in sent[at + 1 : at + 4]] == [
        "done", "cancelled", "cancelled",
    ]  # fmt: skip
    with store.database.reading(store.workspace_id) as scope:
        assert [call.status for call in ledger_queries.list_calls(scope, [turn_id])] == [
            "done",
            "cancelled",
            "cancelled",
        ]


@pytest.mark.case("B02")
def test_long_turn_is_handed_to_another_run_that_goes_on_with_the_next_step(store: Store) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id
    steps = [says("", ("note", json.dumps({"text": str(n)}))) for n in range(3)]
    dependencies = runtime_dependencies(store, ScriptedModel(*steps, says("done")), Note())
    entry.open_turn(dependencies, store.workspace_id, turn_id, "run-1")
    for n in (1, 2):
        decision.decide_step(dependencies, store.workspace_id, turn_id, "run-1", n)
        tool_call.run_call(dependencies, store.workspace_id, turn_id, "run-1", n, 0)

    assert entry.hand_over_turn(dependencies, store.workspace_id, turn_id, "run-1") == "handed over"
    assert entry.hand_over_turn(dependencies, store.workspace_id, turn_id, "run-1") == "lost"
    assert store.bells.ids()[-1] == f"{turn_id}:1:part-2"
    assert entry.open_turn(dependencies, store.workspace_id, turn_id, "run-2") == 3
    assert drive_turn(dependencies, store, turn_id, "run-2") == "completed"
    assert get_turn(store, turn_id).epoch == 1

"""A turn from message to answer, and what its parts do when they run twice."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from core.errors import ConflictError, UnavailableError
from core.llm.scripted_model import ScriptedModel, says
from core.tables import roles
from core.tools import Effect
from runtime.cards import cards
from runtime.cards.answers import CardAnswers, answer_card
from runtime.commands import withdrawal
from runtime.inbox import inbox
from runtime.loop import decision, entry, tool_call, turn_end
from runtime.tasks import checklist
from runtime.turns import ledger_queries
from tests.runtime.turn_driver import (
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
from tests.support.message_replies import replies_to


def test_message_is_read_answered_and_the_task_is_done(store: Store) -> None:
    task = new_task(store)
    message = post_words(store, task.id, "Write a note, please")
    model = ScriptedModel(says("", ("note", '{"text": "hello"}')), says("Noted."))
    note = Note()

    status = drive_turn(runtime_dependencies(store, model, note), store, newest_turn(store, task.id).id)

    assert status == "completed"
    assert get_task(store, task.id).status == "done"
    assert get_message(store, message).state == "answered"
    with store.database.reading(store.workspace_id) as scope:
        replies = replies_to(scope, message)
    assert [reply.text for reply in replies] == ["Noted."]
    assert len(note.ran) == 1
    model.assert_spent()


def test_one_turn_is_open_at_a_time_and_what_meets_it_is_read_by_the_next(store: Store) -> None:
    task = new_task(store)
    post_words(store, task.id, "first")
    first = newest_turn(store, task.id)
    late: list[str] = []
    note = Note(during=lambda _call: late.append(post_words(store, task.id, "second")))
    model = ScriptedModel(says("", ("note", "{}")), says("one"), says("two"))
    dependencies = runtime_dependencies(store, model, note)

    drive_turn(dependencies, store, first.id)

    with store.database.reading(store.workspace_id) as scope:
        item = next(i for i in inbox.list_read_by_turn(scope, first.id) if i.ref_id == late[0])
        assert (item.step, item.position) == (2, 2)
    assert get_message(store, late[0]).state == "answered"
    assert newest_turn(store, task.id).id == first.id


@pytest.mark.boundary(12)
def test_decision_saved_before_a_crash_is_not_asked_for_again(store: Store) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id
    model = ScriptedModel(says("", ("note", "{}"), ("note", "{}")))
    note = Note()
    dependencies = runtime_dependencies(store, model, note)
    entry.open_turn(dependencies, store.workspace_id, turn_id, "run-1")
    decision.decide_step(dependencies, store.workspace_id, turn_id, "run-1", 1)

    again = decision.decide_step(dependencies, store.workspace_id, turn_id, "run-1", 1)

    assert again.calls == 2
    assert len(model.requests) == 1
    with store.database.reading(store.workspace_id) as scope:
        assert [c.id for c in ledger_queries.list_calls_of_step(scope, turn_id, 1)] == [
            f"{turn_id}:1:0",
            f"{turn_id}:1:1",
        ]
    assert note.ran == []


class CrashError(BaseException):
    """The process dies here."""


def _crash(*_: object) -> None:
    raise CrashError


@pytest.mark.boundary(13, 14)
@pytest.mark.parametrize(("repeatable", "status", "runs"), [(True, "done", 2), (False, "outcome_unknown", 1)])
def test_call_that_started_is_replayed_only_where_that_has_one_effect(
    store: Store, repeatable: bool, status: str, runs: int
) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id
    note = Note(repeatable=repeatable, during=_crash)
    dependencies = runtime_dependencies(store, ScriptedModel(says("", ("note", "{}"))), note)
    entry.open_turn(dependencies, store.workspace_id, turn_id, "run-1")
    decision.decide_step(dependencies, store.workspace_id, turn_id, "run-1", 1)
    with pytest.raises(CrashError):
        tool_call.run_call(dependencies, store.workspace_id, turn_id, "run-1", 1, 0)

    note.during = lambda _call: None
    called = tool_call.run_call(dependencies, store.workspace_id, turn_id, "run-1", 1, 0)

    assert called.status == status
    assert note.ran == [f"{turn_id}:1:0"] * runs


@pytest.mark.boundary(15)
def test_result_that_was_saved_is_used_again(store: Store) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id
    note = Note()
    dependencies = runtime_dependencies(store, ScriptedModel(says("", ("note", "{}"))), note)
    entry.open_turn(dependencies, store.workspace_id, turn_id, "run-1")
    decision.decide_step(dependencies, store.workspace_id, turn_id, "run-1", 1)
    tool_call.run_call(dependencies, store.workspace_id, turn_id, "run-1", 1, 0)

    tool_call.run_call(dependencies, store.workspace_id, turn_id, "run-1", 1, 0)

    assert len(note.ran) == 1


@pytest.mark.boundary(16)
def test_model_that_fails_before_its_decision_is_saved_may_be_asked_again(store: Store) -> None:
    task = new_task(store)
    message = post_words(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id
    model = ScriptedModel(UnavailableError("the model is away"), says("here"))
    dependencies = runtime_dependencies(store, model)
    entry.open_turn(dependencies, store.workspace_id, turn_id, "run-1")
    with pytest.raises(UnavailableError):
        decision.decide_step(dependencies, store.workspace_id, turn_id, "run-1", 1)
    assert get_message(store, message).state == "delivered"

    decision.decide_step(dependencies, store.workspace_id, turn_id, "run-1", 1)

    assert get_message(store, message).state == "consumed"
    assert get_turn(store, turn_id).epoch == 1


@pytest.mark.boundary(17)
def test_large_result_is_stored_once_and_read_back_by_pages(store: Store) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id
    long = "x" * 50_000
    model = ScriptedModel(says("", ("note", json.dumps({"text": long}))), says("done"))
    drive_turn(runtime_dependencies(store, model, Note()), store, turn_id)

    with store.database.reading(store.workspace_id) as scope:
        call = ledger_queries.get_call(scope, f"{turn_id}:1:0")

    assert call.result_ref is not None
    assert call.result is not None
    assert call.result["characters"] > 50_000
    assert len(json.dumps(call.result)) < 3_000
    sent = json.dumps(list(model.requests[1][0]))
    assert long not in sent.replace(json.dumps(json.dumps({"text": long})), "")


@pytest.mark.parametrize("arguments", ['{"text": "cut', "", "{'text': 'a'}", "[1]", '{"text": 3}', '{}{"text":"b"}'])
def test_arguments_that_do_not_fit_are_told_to_the_model_and_not_run(store: Store, arguments: str) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id
    model = ScriptedModel(says("", ("spend", arguments)), says("sorry"))
    spend = Note("spend", effect=Effect.PAID)
    drive_turn(runtime_dependencies(store, model, spend), store, turn_id)

    expected = [] if arguments else [f"{turn_id}:1:0"]
    assert spend.ran == expected
    second = list(model.requests[1][0])
    assistant = next(m for m in second if m.get("tool_calls"))
    assert isinstance(json.loads(assistant["tool_calls"][0]["function"]["arguments"]), dict)
    assert [m["tool_call_id"] for m in second if m["role"] == "tool"] == [assistant["tool_calls"][0]["id"]]


@pytest.mark.boundary(9)
def test_message_can_be_withdrawn_until_a_step_has_read_it(store: Store) -> None:
    task = new_task(store)
    early, late = post_words(store, task.id, "a"), post_words(store, task.id, "b")
    with store.database.transaction(store.workspace_id) as scope:
        withdrawal.withdraw_message(scope, early)
    turn_id = newest_turn(store, task.id).id
    drive_turn(runtime_dependencies(store, ScriptedModel(says("ok"))), store, turn_id)

    with store.database.transaction(store.workspace_id) as scope, pytest.raises(ConflictError) as refused:
        withdrawal.withdraw_message(scope, late)

    assert refused.value.facts()["step"] == 1
    assert get_message(store, early).state == "withdrawn"


@pytest.mark.boundary(9)
def test_task_whose_only_message_was_withdrawn_asks_no_model(store: Store) -> None:
    task = new_task(store)
    only = post_words(store, task.id, "Make me two posters.")
    with store.database.transaction(store.workspace_id) as scope:
        withdrawal.withdraw_message(scope, only)
    turn_id = newest_turn(store, task.id).id

    drive_turn(runtime_dependencies(store, ScriptedModel()), store, turn_id)

    assert (get_turn(store, turn_id).status, get_task(store, task.id).status) == ("stopped", "stopped")
    assert newest_turn(store, task.id).id == turn_id


def test_plan_goes_on_by_itself_until_evidence_is_there(store: Store) -> None:
    task = new_task(store)
    message = post_words(store, task.id, "go")
    plan = ("create_checklist", '{"steps": [{"title": "Note it", "acceptance": "a note"}]}')
    proof = ("update_checklist", json.dumps({"changes": [
        {"n": 1, "status": "done", "evidence": [{"kind": "message", "id": message}]}]}))  # fmt: skip
    model = ScriptedModel(says("", plan), says("Planned."), says("", proof), says("All done."))
    dependencies = runtime_dependencies(store, model)

    drive_turn(dependencies, store, newest_turn(store, task.id).id)
    second = newest_turn(store, task.id)
    assert second.status == "queued"
    drive_turn(dependencies, store, second.id, "run-2")

    assert get_task(store, task.id).status == "done"
    model.assert_spent()


@pytest.mark.boundary(44)
def test_turns_that_only_rewrite_the_plan_stop_on_a_card(store: Store) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")
    plan = ("create_checklist", '{"steps": [{"title": "Think"}]}')
    model = ScriptedModel(*[answer for _ in range(4) for answer in (says("", plan), says("planned"))])
    dependencies = runtime_dependencies(store, model)

    for n in range(4):
        drive_turn(dependencies, store, newest_turn(store, task.id).id, f"run-{n}")

    assert get_task(store, task.id).status == "blocked"
    with store.database.reading(store.workspace_id) as scope:
        assert [card.kind for card in cards.list_open_cards(scope, task.id)] == ["blocked"]


@pytest.mark.case("B63")
def test_task_that_works_on_without_input_asks_after_a_while(store: Store) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")
    plan = ("create_checklist", '{"steps": [{"title": "Think"}]}')
    rounds = [answer for n in range(9) for answer in (says("", ("note", f'{{"text": "{n}"}}')), says("more"))]
    made = replace(runtime_dependencies(store, ScriptedModel(says("", plan), *rounds), Note()), most_turns_alone=4)

    turns_taken = 0
    while get_task(store, task.id).status != "blocked" and turns_taken < 9:
        drive_turn(made, store, newest_turn(store, task.id).id, f"run-{turns_taken}")
        store.clock.advance(timedelta(seconds=1))
        turns_taken += 1

    assert turns_taken == 5
    assert get_task(store, task.id).reason == "4 turns went by without a word from anybody; shall it go on?"


@pytest.mark.boundary(45)
def test_checkpoint_that_the_model_only_talks_about_gets_its_card(store: Store) -> None:
    task = new_task(store)
    message = post_words(store, task.id, "go")
    plan = ("create_checklist", '{"steps": [{"title": "Look", "checkpoint": true}, {"title": "Go on"}]}')
    proof = ("update_checklist", json.dumps({"changes": [
        {"n": 1, "status": "done", "evidence": [{"kind": "message", "id": message}]}]}))  # fmt: skip
    model = ScriptedModel(says("", plan, proof), says("Please confirm."), says("Thank you, going on."))
    dependencies = runtime_dependencies(store, model)

    status = drive_turn(dependencies, store, newest_turn(store, task.id).id)

    assert status == "gated"
    with store.database.transaction(store.workspace_id) as scope:
        card = cards.list_open_cards(scope, task.id)[0]
        answer_card(scope, card.id, "continue", None, store.person_id, CardAnswers())
    with store.database.reading(store.workspace_id) as scope:
        assert checklist.list_approved_checkpoints(scope, task.id) == {1}
    assert newest_turn(store, task.id).status == "queued"


def test_checkpoint_of_a_second_plan_gets_a_card_of_its_own(store: Store) -> None:
    """Both plans have a step 1 with a checkpoint; the yes to the first says nothing about the second."""
    task = new_task(store)
    message = post_words(store, task.id, "go")

    def plan(title: str) -> tuple[str, str]:
        return "create_checklist", json.dumps({"steps": [{"title": title, "checkpoint": True}, {"title": "Go on"}]})

    proof = ("update_checklist", json.dumps({"changes": [
        {"n": 1, "status": "done", "evidence": [{"kind": "message", "id": message}]}]}))  # fmt: skip
    again = ("update_checklist", json.dumps({"changes": [{"n": 1, "status": "todo"}]}))
    ask = ("ask_user", json.dumps({"kind": "checkpoint", "title": "Look?", "step": 1}))
    none = ("ask_user", json.dumps({"kind": "checkpoint", "title": "Look?", "step": 9}))
    steps = [says("", plan("Look"), proof, none), says("Please."), says("", again, plan("Look better"), proof, ask)]
    dependencies = runtime_dependencies(
        store, ScriptedModel(*steps, says("Please."), says("", again, plan("Anew")), says("On."))
    )

    assert drive_turn(dependencies, store, newest_turn(store, task.id).id) == "gated"
    _let_pass(store, task.id)
    assert drive_turn(dependencies, store, newest_turn(store, task.id).id, "run-2") == "gated"
    with store.database.reading(store.workspace_id) as scope:
        assert checklist.list_approved_checkpoints(scope, task.id) == frozenset()
        (open_card,) = cards.list_open_cards(scope, task.id)
        assert open_card.subject == {"n": 1, "plan": 2}
    post_words(store, task.id, "Plan it anew.")
    drive_turn(dependencies, store, newest_turn(store, task.id).id, "run-3")
    with store.database.reading(store.workspace_id) as scope:
        assert cards.get_card(scope, open_card.id).state == "superseded"


def _let_pass(store: Store, task_id: str) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        (card,) = cards.list_open_cards(scope, task_id)
        answer_card(scope, card.id, "continue", None, store.person_id, CardAnswers())


@pytest.mark.parametrize("role", ["viewer", None])
@pytest.mark.parametrize("effect", [Effect.WRITE, Effect.IRREVERSIBLE])
def test_task_of_a_person_who_may_only_look_now_changes_nothing(store: Store, role: str | None, effect: Effect) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")
    note = Note(effect=effect)
    dependencies = runtime_dependencies(store, ScriptedModel(says("", ("note", "{}")), says("It cannot be.")), note)
    with store.database.transaction(store.workspace_id) as scope:
        mine = roles.c.person_id == store.person_id
        scope.change(scope.delete(roles).where(mine) if role is None else scope.update(roles).values(role=role))

    turn_id = newest_turn(store, task.id).id
    drive_turn(dependencies, store, turn_id)

    assert note.ran == []
    with store.database.reading(store.workspace_id) as scope:
        (call,) = ledger_queries.list_calls(scope, [turn_id])
    assert (call.status, call.result["error"] if call.result else None) == ("failed", "permission")


def test_closing_twice_says_the_answer_once(store: Store) -> None:
    task = new_task(store)
    message = post_words(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id
    dependencies = runtime_dependencies(store, ScriptedModel(says("ok")))
    drive_turn(dependencies, store, turn_id)

    assert turn_end.close_turn(dependencies, store.workspace_id, turn_id, "run-1") == "completed"

    with store.database.reading(store.workspace_id) as scope:
        assert len(replies_to(scope, message)) == 1


def test_report_of_a_later_turn_answers_the_message_that_asked_for_the_work(store: Store) -> None:
    task = new_task(store)
    message = post_words(store, task.id, "go")
    plan = ("create_checklist", '{"steps": [{"title": "Wait for it"}]}')
    model = ScriptedModel(says("", plan), says("On its way."), says("Here it is."))
    dependencies = runtime_dependencies(store, model)
    drive_turn(dependencies, store, newest_turn(store, task.id).id)

    drive_turn(dependencies, store, newest_turn(store, task.id).id, "run-2")

    with store.database.reading(store.workspace_id) as scope:
        assert [reply.text for reply in replies_to(scope, message)] == ["On its way.", "Here it is."]


def test_refused_work_is_blocked_with_a_reason_and_not_called_done(store: Store) -> None:
    task = new_task(store)
    post_words(store, task.id, "something unkind")
    refusal = replace(says("I will not do this."), refused=True)

    drive_turn(runtime_dependencies(store, ScriptedModel(refusal)), store, newest_turn(store, task.id).id)

    assert get_task(store, task.id).status == "blocked"
    with store.database.reading(store.workspace_id) as scope:
        assert [card.kind for card in cards.list_open_cards(scope, task.id)] == ["blocked"]

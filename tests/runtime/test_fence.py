"""Who may act for a turn: leases, takeovers, stops, and bells that come twice, late or not at all."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta

import pytest

from core.errors import BusyError, ConflictError, LostError, NotFoundError
from core.llm.scripted_model import ScriptedModel, says
from runtime import recovery
from runtime.cards import cards
from runtime.cards.answers import CardAnswers, answer_card
from runtime.commands import control, withdrawal
from runtime.inbox import inbox, messages
from runtime.inbox.turn_queue import wake_task
from runtime.loop import decision, entry, tool_call, turn_end
from runtime.statuses import CardKind, InputKind, MessageState
from runtime.turns import ledger_queries, rows
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


@pytest.mark.case("B05")
@pytest.mark.boundary(18)
def test_frozen_execution_is_taken_over_once_and_its_late_result_refused(store: Store) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id
    frozen, thaw = threading.Event(), threading.Event()

    def freeze_first(_call: object) -> None:
        if len(note.ran) == 1:
            frozen.set()
            assert thaw.wait(20)

    note = Note(during=freeze_first)
    model = ScriptedModel(says("", ("note", "{}")), says("done"))
    dependencies = runtime_dependencies(store, model, note)
    entry.open_turn(dependencies, store.workspace_id, turn_id, "run-1")
    decision.decide_step(dependencies, store.workspace_id, turn_id, "run-1", 1)
    late: list[BaseException] = []

    def first_execution() -> None:
        try:
            tool_call.run_call(dependencies, store.workspace_id, turn_id, "run-1", 1, 0)
        except LostError as error:
            late.append(error)

    worker = threading.Thread(target=first_execution)
    worker.start()
    assert frozen.wait(20)
    with pytest.raises(BusyError):
        tool_call.run_call(dependencies, store.workspace_id, turn_id, "run-1", 1, 0)
    store.clock.advance(LEASE + timedelta(seconds=1))

    taken = tool_call.run_call(dependencies, store.workspace_id, turn_id, "run-1", 1, 0)
    thaw.set()
    worker.join(20)
    decision.decide_step(dependencies, store.workspace_id, turn_id, "run-1", 2)
    turn_end.close_turn(dependencies, store.workspace_id, turn_id, "run-1")

    assert taken.status == "done"
    assert len(late) == 1
    assert (get_turn(store, turn_id).status, get_turn(store, turn_id).epoch) == ("completed", 2)
    assert len(model.requests) == 2
    with store.database.reading(store.workspace_id) as scope:
        assert [(c.status, c.epoch) for c in ledger_queries.list_calls(scope, [turn_id])] == [("done", 2)]


def test_hold_is_kept_alive_while_a_tool_takes_long(store: Store) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id
    beats: list[bool] = []

    def take_long(_call: object) -> None:
        for _ in range(2):
            store.clock.advance(timedelta(seconds=0.5))
            until = store.clock.now() + made.lease
            for _ in range(200):
                if get_turn(store, turn_id).lease_until == until:
                    break
                threading.Event().wait(0.05)
            beats.append(get_turn(store, turn_id).lease_until == until)

    model = ScriptedModel(says("", ("note", "{}")), says("done"))
    made = replace(runtime_dependencies(store, model, Note(during=take_long)), lease=timedelta(seconds=0.6))

    assert drive_turn(made, store, turn_id) == "completed"
    assert beats == [True, True]
    assert get_turn(store, turn_id).epoch == 1


@pytest.mark.boundary(23)
def test_second_bell_of_a_turn_starts_no_second_execution(store: Store) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id
    dependencies = runtime_dependencies(store, ScriptedModel())

    assert entry.open_turn(dependencies, store.workspace_id, turn_id, "run-1") == 1
    assert entry.open_turn(dependencies, store.workspace_id, turn_id, "run-1") == 1
    refused = entry.open_turn(dependencies, store.workspace_id, turn_id, "run-2")

    assert refused == "not let in: the turn is running"
    with pytest.raises(LostError):
        decision.decide_step(dependencies, store.workspace_id, turn_id, "run-2", 1)


@pytest.mark.boundary("22b")
def test_run_that_was_lost_is_replaced_and_its_steps_stop(store: Store) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id
    dependencies = runtime_dependencies(store, ScriptedModel(says("ok")))
    entry.open_turn(dependencies, store.workspace_id, turn_id, "run-1")
    store.clock.advance(dependencies.patience + timedelta(seconds=1))

    recovery.recover_workspace(store.database, store.workspace_id, dependencies.pause, dependencies.patience)
    rung = [name for name in store.bells.ids() if name.startswith(turn_id)]
    status = drive_turn(dependencies, store, turn_id, "run-2")

    assert rung == [f"{turn_id}:1", f"{turn_id}:1:ring-1"]
    assert status == "completed"
    assert get_turn(store, turn_id).epoch == 2
    with pytest.raises(LostError):
        decision.decide_step(dependencies, store.workspace_id, turn_id, "run-1", 1)


@pytest.mark.boundary(20, 21)
def test_stop_ends_turn_cards_and_waking(store: Store) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id

    def stop(_call: object) -> None:
        with store.database.transaction(store.workspace_id) as scope:
            cards.open_card(
                scope, kind=CardKind.CHOICE, title="?", body="", options=[{"id": "a", "label": "A"}], cause="c",
                task_id=task.id,
            )  # fmt: skip
            control.stop_task(scope, task.id)

    dependencies = runtime_dependencies(
        store, ScriptedModel(says("", ("note", '{"text": "late"}'), ("note", "{}"))), Note(during=stop)
    )
    entry.open_turn(dependencies, store.workspace_id, turn_id, "run-1")
    decision.decide_step(dependencies, store.workspace_id, turn_id, "run-1", 1)

    with pytest.raises(LostError):
        tool_call.run_call(dependencies, store.workspace_id, turn_id, "run-1", 1, 0)
    with pytest.raises(LostError):
        tool_call.run_call(dependencies, store.workspace_id, turn_id, "run-1", 1, 1)

    assert get_task(store, task.id).status == "stopped"
    with store.database.transaction(store.workspace_id) as scope:
        late, never = ledger_queries.list_calls(scope, [turn_id])
        assert (late.status, late.ok, late.result) == ("done", True, {"noted": "late"})
        assert (never.status, never.result) == ("cancelled", None)
        card = cards.list_cards(scope, task_id=task.id)[0]
        assert card.state == "void"
        with pytest.raises(ConflictError):
            answer_card(scope, card.id, "a", None, store.person_id, CardAnswers())
        assert wake_task(scope, task.id, "late") is None
        assert [one.id for one in rows.list_turns_of_task(scope, task.id)] == [turn_id]
    assert get_turn(store, turn_id).status == "stopped"


@pytest.mark.boundary(20)
@pytest.mark.parametrize("ended", ["taken_over", "given_up"])
def test_late_result_is_kept_only_of_a_call_that_a_stop_cut_off(store: Store, ended: str) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id

    def lose(_call: object) -> None:
        store.clock.advance(LEASE + timedelta(seconds=1))
        if ended == "given_up":
            assert turn_end.fail_turn(dependencies, store.workspace_id, turn_id, "run-1", "it takes too long")
        else:
            taken = tool_call.run_call(dependencies, store.workspace_id, turn_id, "run-1", 1, 0)
            assert taken.status == "outcome_unknown"

    dependencies = runtime_dependencies(
        store, ScriptedModel(says("", ("note", "{}"))), Note(repeatable=False, during=lose)
    )
    entry.open_turn(dependencies, store.workspace_id, turn_id, "run-1")
    decision.decide_step(dependencies, store.workspace_id, turn_id, "run-1", 1)

    with pytest.raises(LostError):
        tool_call.run_call(dependencies, store.workspace_id, turn_id, "run-1", 1, 0)

    with store.database.reading(store.workspace_id) as scope:
        (call,) = ledger_queries.list_calls(scope, [turn_id])
    assert call.status == "outcome_unknown"
    assert "noted" not in (call.result or {})


@pytest.mark.boundary(21)
def test_late_stop_does_not_hit_the_next_turn(store: Store) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")
    drive_turn(runtime_dependencies(store, ScriptedModel(says("ok"))), store, newest_turn(store, task.id).id)
    first = newest_turn(store, task.id).id
    with store.database.transaction(store.workspace_id) as scope, pytest.raises(ConflictError, match="too late"):
        control.stop_task(scope, task.id, first)
    assert get_task(store, task.id).status == "done"
    post_words(store, task.id, "and another one")
    second = newest_turn(store, task.id).id

    with store.database.transaction(store.workspace_id) as scope, pytest.raises(ConflictError) as late:
        control.stop_task(scope, task.id, first)

    assert late.value.facts()["newest_turn_id"] == second
    assert drive_turn(runtime_dependencies(store, ScriptedModel(says("ok"))), store, second, "run-2") == "completed"
    assert get_task(store, task.id).status == "done"


@pytest.mark.boundary(21)
def test_stop_of_the_turn_that_is_at_work_or_waits_stops_it_and_may_come_twice(store: Store) -> None:
    for orders, status in (((), "queued"), (("order-1",), "waiting")):
        task = new_task(store, status)
        post_words(store, task.id, "go")
        turn_id = newest_turn(store, task.id).id
        if orders:
            waiting = runtime_dependencies(
                store, ScriptedModel(says("ok")), open_orders=lambda _scope, _task: ("order-1",)
            )
            drive_turn(waiting, store, turn_id)
        assert get_turn(store, turn_id).status == status

        for _ in range(2):
            with store.database.transaction(store.workspace_id) as scope:
                control.stop_task(scope, task.id, turn_id)

        assert get_task(store, task.id).status == "stopped"


@pytest.mark.boundary(21)
def test_stop_of_another_tasks_turn_is_refused(store: Store) -> None:
    mine, other = new_task(store), new_task(store, "another")
    for one in (mine, other):
        post_words(store, one.id, "go")

    with store.database.transaction(store.workspace_id) as scope, pytest.raises(NotFoundError):
        control.stop_task(scope, mine.id, newest_turn(store, other.id).id)

    assert (get_task(store, mine.id).status, get_task(store, other.id).status) == ("active", "active")


@pytest.mark.boundary(10)
def test_withdrawing_and_claiming_together_have_one_winner(store: Store) -> None:
    task = new_task(store)
    for n in range(12):
        asked = post_words(store, task.id, f"message {n}")
        both = threading.Barrier(2)
        outcome: dict[str, object] = {}

        def withdraw(asked: str = asked, both: threading.Barrier = both, outcome: dict[str, object] = outcome) -> None:
            both.wait()
            try:
                with store.database.transaction(store.workspace_id) as scope:
                    withdrawal.withdraw_message(scope, asked)
                outcome["withdrawn"] = True
            except ConflictError as error:
                outcome["withdrawn"] = False
                outcome["step"] = error.facts().get("step")

        racer = threading.Thread(target=withdraw)
        racer.start()
        both.wait()
        with store.database.transaction(store.workspace_id) as scope:
            claimed = [item.ref_id for item in inbox.claim_inbox(scope, task.id, "turn-x", 1)]
            inbox.consume_inbox(
                scope, [i for i in inbox.list_unread(scope, task.id) if i.state == "claimed"], "turn-x", 1
            )
        racer.join()

        assert outcome["withdrawn"] == (asked not in claimed)
        assert get_message(store, asked).state == ("withdrawn" if outcome["withdrawn"] else "consumed")


@pytest.mark.boundary(24)
def test_unread_message_without_a_turn_gets_one_from_the_watch(store: Store) -> None:
    task = new_task(store)
    with store.database.transaction(store.workspace_id) as scope:
        message = messages.receive_message(
            scope, person_id=store.person_id, asked_by="person", channel_id=None, text="x", to_task_id=task.id
        )
        messages.set_message_state(
            scope, message.id, MessageState.DELIVERED, was=(MessageState.RECEIVED,), task_id=task.id
        )
        inbox.store_input(scope, task.id, InputKind.MESSAGE, message.id)
    store.clock.advance(timedelta(seconds=11))

    for _ in range(3):
        recovery.recover_workspace(store.database, store.workspace_id, timedelta(seconds=10), LEASE)

    assert newest_turn(store, task.id).status == "queued"


@pytest.mark.case("B05")
def test_one_bad_row_does_not_keep_the_watch_from_the_others(store: Store) -> None:
    dependencies = runtime_dependencies(store, ScriptedModel())
    turns = []
    for n in range(5):
        task = new_task(store, f"task {n}")
        post_words(store, task.id, "go")
        turns.append(newest_turn(store, task.id).id)
        entry.open_turn(dependencies, store.workspace_id, turns[-1], f"run-{n}")
    store.clock.advance(dependencies.patience + timedelta(seconds=1))

    recovery.recover_workspace(store.database, store.workspace_id, dependencies.pause, dependencies.patience)

    assert {f"{turn_id}:1:ring-1" for turn_id in turns} <= set(store.bells.ids())


def test_forged_bell_without_its_row_does_nothing(store: Store) -> None:
    with pytest.raises(NotFoundError):
        entry.open_turn(runtime_dependencies(store, ScriptedModel()), store.workspace_id, "turn_forged", "run-1")


def test_paused_task_keeps_its_turn_until_it_is_resumed(store: Store) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id
    with store.database.transaction(store.workspace_id) as scope:
        control.pause_task(scope, task.id)
    dependencies = runtime_dependencies(store, ScriptedModel(says("ok")))

    assert isinstance(entry.open_turn(dependencies, store.workspace_id, turn_id, "run-1"), str)
    with store.database.transaction(store.workspace_id) as scope:
        control.resume_task(scope, task.id)

    assert drive_turn(dependencies, store, turn_id, "run-2") == "completed"

"""Points that a turn meets only in trouble: a process dies at each, and the next one finishes the work once."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from datetime import timedelta

import pytest
from flask import Flask, request

from core import leases
from core.errors import LostError, UnavailableError
from core.events import NoticeRequested
from core.llm.scripted_model import ScriptedModel, says
from core.tables import replies
from core.tools import CallContext
from functions import notify
from router import judgement
from runtime import notices, recovery, retention
from runtime.cards import cards
from runtime.commands import control
from runtime.loop import decision as steps
from runtime.loop import entry, tool_call, turn_end
from runtime.tables import inbox, originals
from runtime.tasks import tasks
from runtime.tools.lookup import PAGE
from runtime.turns import ledger_queries
from runtime.turns.lease import hold_turn_lease
from tests.faults.stage import Stage, commit
from tests.router.world import scripted, verdict
from tests.runtime import turn_driver
from tests.runtime.turn_driver import LEASE, Note, new_task, newest_turn, post_words, runtime_dependencies
from tests.support.wsgi import serving

pytestmark = pytest.mark.kill

SHORT = timedelta(seconds=0.3)

DEATHS: dict[str, tuple[str, ...]] = {
    "notice": ("webhook.before", "webhook.after", *commit("notice.sent")),
    "handed_over": commit("turn.handed_over"),
    "failed": commit("turn.failed"),
    "nothing_begun": commit("call.start_taken_back"),
    "late_result": commit("call.late_result"),
    "step_failed": (*commit("decide.given_back"), *commit("turn.let_go")),
    "turn_renewed": commit("turn.renewed"),
    "asked": commit("card.asked"),
    "duplicate": ("duplicate.ask.before", "duplicate.ask.after"),
    "watch_of_the_runtime": commit("watch.repaired"),
    "watcher": (*commit("lease.taken"), *commit("lease.freed")),
    "pruned": commit("pruned"),
    "large_result": (
        *commit("call.started"),
        "call.act.before",
        *commit("tool"),
        "call.act.after",
        *commit("call.result"),
    ),
}


def test_notice_is_posted_under_one_key_and_noted_once(stage: Stage) -> None:
    heard: list[str] = []
    app = Flask(__name__)

    @app.post("/")
    def hear() -> str:
        heard.append(request.headers["Idempotency-Key"])
        return "ok"

    with stage.store.database.transaction(stage.store.workspace_id) as scope:
        notices.store_notice(scope, "ops", "The disk is full.", "cause")
        (notice,) = notices.list_newest_notices(scope)
    asked = NoticeRequested(workspace_id=stage.store.workspace_id, notice_id=notice.id)
    with serving(app) as url:
        stage.die(DEATHS["notice"], lambda: notify.send_notice(stage.store.database, lambda _channel: url, asked))

    with stage.store.database.reading(stage.store.workspace_id) as scope:
        sent = notices.get_notice(scope, notice.id)
    # Not before its post; again after a death between post and note, each time as the same one.
    assert heard == [notice.id] * 3
    assert (sent.sent_at is not None, sent.attempts) == (True, 1)


def test_long_turn_is_handed_over_once(stage: Stage) -> None:
    store, ws = stage.store, stage.store.workspace_id
    task = new_task(store)
    post_words(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id
    dependencies = runtime_dependencies(store, ScriptedModel(says("done")))
    entry.open_turn(dependencies, ws, turn_id, "run-1")

    stage.die(DEATHS["handed_over"], lambda: entry.hand_over_turn(dependencies, ws, turn_id, "run-1"))

    assert turn_driver.drive_turn(dependencies, store, turn_id, "run-2") == "completed"


@pytest.mark.boundary(22)
def test_turn_that_is_given_up_asks_the_person_once(stage: Stage) -> None:
    store, ws = stage.store, stage.store.workspace_id
    task = new_task(store)
    post_words(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id
    dependencies = runtime_dependencies(store, ScriptedModel())
    entry.open_turn(dependencies, ws, turn_id, "run-1")

    stage.die(DEATHS["failed"], lambda: turn_end.fail_turn(dependencies, ws, turn_id, "run-1", "nothing works"))

    with store.database.reading(ws) as scope:
        (card,) = cards.list_open_cards(scope, task.id)
        assert (card.kind, tasks.get_task(scope, task.id).status) == ("blocked", "blocked")
        assert [row.state for row in scope.rows(scope.select(inbox))] == ["delivered"]


@pytest.mark.boundary(14)
def test_call_that_began_nothing_is_run_again_though_it_is_not_repeatable(stage: Stage) -> None:
    """Its process dies while it says so: before that is stored, the outcome is unknown and the tool is left alone."""
    store, ws = stage.store, stage.store.workspace_id
    task = new_task(store)
    post_words(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id

    def away(_call: CallContext) -> None:
        raise UnavailableError("nobody there")

    dependencies = runtime_dependencies(
        store, ScriptedModel(says("", ("note", "{}"), ("note", '{"text": "2"}'))), Note(during=away)
    )
    entry.open_turn(dependencies, ws, turn_id, "run-1")
    steps.decide_step(dependencies, ws, turn_id, "run-1", 1)

    def both() -> None:
        failing = runtime_dependencies(store, ScriptedModel(), Note(repeatable=False, during=away))
        for seq in range(2):
            with suppress(UnavailableError):
                tool_call.run_call(failing, ws, turn_id, "run-1", 1, seq)

    stage.die(DEATHS["nothing_begun"], both)

    with store.database.reading(ws) as scope:
        first, second = ledger_queries.list_calls(scope, [turn_id])
    assert (first.status, second.status) == ("outcome_unknown", "proposed")
    finished = runtime_dependencies(store, ScriptedModel(says("done")), note := Note(repeatable=False))
    assert turn_driver.drive_turn(finished, store, turn_id, "run-1") == "completed"
    assert note.ran == [second.id]


@pytest.mark.boundary(20)
@pytest.mark.parametrize("n", [0, 1])
def test_late_result_of_a_stopped_turn_is_kept_or_stays_unknown(stage: Stage, n: int) -> None:
    store, ws = stage.store, stage.store.workspace_id
    task = new_task(store)
    post_words(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id

    def stop(_call: object) -> None:
        with store.database.transaction(ws) as scope:
            control.stop_task(scope, task.id)

    dependencies = runtime_dependencies(store, ScriptedModel(says("", ("note", "{}"))), Note(during=stop))
    entry.open_turn(dependencies, ws, turn_id, "run-1")
    steps.decide_step(dependencies, ws, turn_id, "run-1", 1)

    def call() -> None:
        with suppress(LostError):
            tool_call.run_call(dependencies, ws, turn_id, "run-1", 1, 0)

    stage.die(DEATHS["late_result"][n : n + 1], call)

    with store.database.reading(ws) as scope:
        (kept,) = ledger_queries.list_calls(scope, [turn_id])
    assert kept.status == ("outcome_unknown", "done")[n]
    assert newest_turn(store, task.id).id == turn_id


@pytest.mark.boundary(16)
def test_request_that_failed_leaves_its_messages_unread(stage: Stage) -> None:
    store, ws = stage.store, stage.store.workspace_id
    task = new_task(store)
    message = post_words(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id
    entry.open_turn(runtime_dependencies(store, ScriptedModel()), ws, turn_id, "run-1")

    def ask() -> None:
        failing = runtime_dependencies(store, ScriptedModel(UnavailableError("the model is away")))
        with suppress(UnavailableError):
            steps.decide_step(failing, ws, turn_id, "run-1", 1)

    stage.die(DEATHS["step_failed"], ask)

    with store.database.reading(ws) as scope:
        assert [(row.ref_id, row.state) for row in scope.rows(scope.select(inbox))] == [(message, "delivered")]
    assert newest_turn(store, task.id).lease_token is None
    assert (
        turn_driver.drive_turn(runtime_dependencies(store, ScriptedModel(says("done"))), store, turn_id, "run-1")
        == "completed"
    )
    assert turn_driver.get_message(store, message).state == "answered"


@pytest.mark.boundary(18)
def test_worker_whose_heartbeat_stops_between_two_beats_leaves_the_turn_to_the_next(stage: Stage) -> None:
    store, ws = stage.store, stage.store.workspace_id
    task = new_task(store)
    post_words(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id
    entry.open_turn(runtime_dependencies(store, ScriptedModel()), ws, turn_id, "run-1")

    def work() -> None:
        with hold_turn_lease(store.database, ws, turn_id, "run-1", SHORT) as fence:
            time.sleep(SHORT.total_seconds())
            with store.database.transaction(ws) as scope:
                fence.release(scope)

    stage.die(DEATHS["turn_renewed"], work)

    assert (newest_turn(store, task.id).epoch, newest_turn(store, task.id).lease_token) == (3, None)


@pytest.mark.boundary(13)
def test_question_to_a_person_is_asked_once(stage: Stage) -> None:
    store, ws = stage.store, stage.store.workspace_id
    task = new_task(store)
    post_words(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id
    ask = ("ask_user", '{"kind": "choice", "title": "Which?", "options": [{"id": "a", "label": "A"}]}')
    dependencies = runtime_dependencies(store, ScriptedModel(says("", ask), says("Please choose.")))
    entry.open_turn(dependencies, ws, turn_id, "run-1")
    steps.decide_step(dependencies, ws, turn_id, "run-1", 1)

    stage.die(DEATHS["asked"], lambda: tool_call.run_call(dependencies, ws, turn_id, "run-1", 1, 0))

    with store.database.reading(ws) as scope:
        assert len(cards.list_open_cards(scope, task.id)) == 1
    assert turn_driver.drive_turn(dependencies, store, turn_id, "run-1") == "gated"


@pytest.mark.boundary(4)
def test_near_duplicate_is_judged_again_and_makes_no_second_task(stage: Stage) -> None:
    world, _ = scripted(stage.store)
    task = world.task("Three retro posters for the Harbour Festival in navy and cream")
    message = world.say("Make three retro posters for the Harbour Festival in navy and cream")

    def judge() -> None:
        answers = (verdict("new"), verdict("existing", task_id=task.id))
        judgement.judge_message(scripted(stage.store, *answers)[0].dependencies, stage.store.workspace_id, message.id)

    stage.die(DEATHS["duplicate"], judge)

    routed = world.route(message)
    assert (routed.task_id, len(world.all_tasks())) == (task.id, 1)


@pytest.mark.boundary(24)
def test_watcher_that_dies_during_a_repair_is_replaced(stage: Stage) -> None:
    """Both messages are unread and without a turn; what the dead one had not stored is found again."""
    store, ws = stage.store, stage.store.workspace_id
    made = [new_task(store) for _ in range(2)]
    for task in made:
        with store.database.transaction(ws) as scope:
            scope.insert(
                inbox, id=scope.ids.new("in"), task_id=task.id, kind="message", ref_id="msg_gone", state="delivered",
                created_at=scope.now - timedelta(minutes=1),
            )  # fmt: skip

    stage.die(
        DEATHS["watch_of_the_runtime"],
        lambda: recovery.recover_workspace(store.database, ws, timedelta(hours=1), LEASE),
    )

    assert [newest_turn(store, task.id).status for task in made] == ["queued", "queued"]


@pytest.mark.boundary(22)
def test_watcher_that_dies_holding_its_lease_is_replaced(stage: Stage) -> None:
    database = stage.store.database

    def watch_once() -> None:
        assert leases.acquire_lease(database, "watch", "mine", timedelta(seconds=25))
        leases.release_lease(database, "watch", "mine")

    stage.die(DEATHS["watcher"], watch_once)

    assert leases.acquire_lease(database, "watch", "another", timedelta(seconds=25))


def test_pruning_that_died_is_done_an_hour_later(stage: Stage) -> None:
    database, ws = stage.store.database, stage.store.workspace_id

    def prune() -> None:
        deaths = len(list((stage.folder / "crash").iterdir()))
        stage.store.clock.advance(2 * retention.PAUSE * (deaths + 1))
        retention.prune_workspace(database, ws)
        with database.reading(ws) as scope:
            assert scope.rows(scope.select(replies)) == []

    with database.transaction(ws) as scope:
        long_ago = scope.now - timedelta(days=9)
        scope.insert(replies, key="old", endpoint="POST /", digest="", created_at=long_ago)

    stage.die(DEATHS["pruned"], prune)


@pytest.mark.boundary(17)
def test_large_result_is_stored_once_whatever_dies_while_it_is_stored(stage: Stage) -> None:
    store, ws = stage.store, stage.store.workspace_id
    task = new_task(store)
    post_words(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id
    large = "Shot 1: dusk over the harbour. " * 2_000

    def write(call: CallContext) -> None:
        with call.transaction() as scope:
            tasks.set_task_fields(scope, task.id, brief=large)

    dependencies = runtime_dependencies(
        store, ScriptedModel(says("", ("note", json.dumps({"text": large})))), Note(during=write)
    )
    entry.open_turn(dependencies, ws, turn_id, "run-1")
    steps.decide_step(dependencies, ws, turn_id, "run-1", 1)

    stage.die(DEATHS["large_result"], lambda: tool_call.run_call(dependencies, ws, turn_id, "run-1", 1, 0))

    call_id = f"{turn_id}:1:0"
    with store.database.reading(ws) as scope:
        (kept,) = scope.rows(scope.select(originals))
        call = ledger_queries.get_call(scope, call_id)
    assert (kept.cause, json.loads(kept.text)) == (call_id, {"noted": large})
    assert (call.status, call.result_ref, (call.result or {})["stored_as"]) == ("done", kept.id, kept.id)
    assert len(json.dumps(call.result)) < 3_000
    pages = [("read_back", json.dumps({"ref": kept.id, "page": n + 1})) for n in range(-(-len(kept.text) // PAGE))]
    assert (
        turn_driver.drive_turn(
            runtime_dependencies(store, ScriptedModel(says("", *pages), says("done")), Note()), store, turn_id
        )
        == "completed"
    )
    with store.database.reading(ws) as scope:
        read = [(one.result or {})["text"] for one in ledger_queries.list_calls_of_step(scope, turn_id, 2)]
    assert "".join(read) == kept.text

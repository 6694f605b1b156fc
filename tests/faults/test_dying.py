"""Points that a story meets only in trouble: a process dies at each, and the next one finishes the work once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from flask import Flask, request

from core import leases
from core.errors import UnavailableError
from core.events import NoticeRequested
from core.model_scripted import ScriptedModel, says
from core.tables import replies
from core.tools import CallContext, Effect
from functions import notify
from generation import watching as order_watching
from generation.following import ring_for_next_run
from generation.orders import Order
from generation.tables import orders
from router import deciding
from runtime import calling, cards, closing, entering, guard, notices, pruning, tasks, watching
from runtime import deciding as steps
from runtime.tables import inbox
from runtime.tasks import Task
from runtime.turns import ledger
from runtime.turns.lease import TurnFence, hold
from tests.faults.dying import at_once, survive
from tests.generation.world import FILM_5, Studio, World, studio, studio_provider, world_of
from tests.router.world import scripted, verdict
from tests.runtime import driving
from tests.runtime.driving import LEASE, Note, new_task, newest_turn, parts, tell
from tests.support.databases import Store
from tests.support.waiting import until
from tests.support.wsgi import serving

pytestmark = pytest.mark.kill

SHORT = timedelta(seconds=0.3)


@dataclass
class Stage:
    """What a case plays on. Nothing that holds a connection is handed from one process to the next."""

    store: Store
    folder: Path
    studio: Studio

    def world(self, **settings: Any) -> World:
        return world_of(self.store, self.folder / "home", studio_provider(self.studio), **settings)

    def die(self, name: str, act: Callable[[], object]) -> None:
        survive(self.store, self.folder, DEATHS[name], act)

    def ordered(self) -> tuple[Task, Order]:
        world = self.world()
        task = world.task()
        return task, world.order(task, world.turn(task))


@pytest.fixture
def stage(store: Store, tmp_path: Path, own_studio: Studio) -> Iterator[Stage]:
    own_studio.heal()
    yield Stage(store, tmp_path, own_studio)
    own_studio.heal()


@pytest.fixture(scope="module")
def own_studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    with studio(tmp_path_factory.mktemp("studio")) as running:
        yield running


def _commit(name: str) -> tuple[str, str]:
    return f"{name}.before_commit", f"{name}.after_commit"


DEATHS: dict[str, tuple[str, ...]] = {
    "notice": ("webhook.before", "webhook.after", *_commit("notice.sent")),
    "handed_over": _commit("turn.handed_over"),
    "failed": _commit("turn.failed"),
    "nothing_begun": _commit("call.start_taken_back"),
    "step_failed": (*_commit("decide.given_back"), *_commit("turn.let_go")),
    "turn_renewed": _commit("turn.renewed"),
    "asked": _commit("card.asked"),
    "duplicate": ("duplicate.ask.before", "duplicate.ask.after"),
    "watch_of_the_runtime": _commit("watch.repaired"),
    "watch_of_the_orders": _commit("watch.repaired"),
    "watcher": (*_commit("lease.taken"), *_commit("lease.freed")),
    "pruned": _commit("pruned"),
    "order_handed_over": _commit("order.handed_over"),
    "order_ended": _commit("order.ended"),
    "order_renewed": _commit("order.renewed"),
    "overcharged": _commit("order.settled"),
    "put_back": _commit("order.put_back"),
    "unclear": _commit("order.noted"),
    "looked_up": ("provider.look_up.before", "provider.look_up.after"),
    "trouble": _commit("order.trouble"),
    "stored": ("assets.put.before", "assets.put.after"),
    "priced": ("provider.list.before", "provider.list.after"),
}


def test_notice_is_posted_under_one_key_and_noted_once(stage: Stage) -> None:
    heard: list[str] = []
    app = Flask(__name__)

    @app.post("/")
    def hear() -> str:
        heard.append(request.headers["Idempotency-Key"])
        return "ok"

    with stage.store.database.transaction(stage.store.workspace_id) as scope:
        notices.tell(scope, "ops", "The disk is full.", "cause")
        (notice,) = notices.latest(scope)
    asked = NoticeRequested(workspace_id=stage.store.workspace_id, notice_id=notice.id)
    with serving(app) as url:
        stage.die("notice", lambda: notify.send(stage.store.database, lambda _channel: url, asked))

    with stage.store.database.reading(stage.store.workspace_id) as scope:
        sent = notices.get(scope, notice.id)
    # Not before its post; again after a death between post and note, each time as the same one.
    assert heard == [notice.id] * 3
    assert (sent.sent_at is not None, sent.attempts) == (True, 1)


def test_long_turn_is_handed_over_once(stage: Stage) -> None:
    store, ws = stage.store, stage.store.workspace_id
    task = new_task(store)
    tell(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id
    made = parts(store, ScriptedModel(says("done")))
    entering.open_turn(made, ws, turn_id, "run-1")

    stage.die("handed_over", lambda: entering.hand_over(made, ws, turn_id, "run-1"))

    assert driving.run(made, store, turn_id, "run-2") == "completed"


def test_22_turn_that_is_given_up_asks_the_person_once(stage: Stage) -> None:
    store, ws = stage.store, stage.store.workspace_id
    task = new_task(store)
    tell(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id
    made = parts(store, ScriptedModel())
    entering.open_turn(made, ws, turn_id, "run-1")

    stage.die("failed", lambda: closing.fail(made, ws, turn_id, "run-1", "nothing works"))

    with store.database.reading(ws) as scope:
        (card,) = cards.open_cards(scope, task.id)
        assert (card.kind, tasks.get(scope, task.id).status) == ("blocked", "blocked")
        assert [row.state for row in scope.rows(scope.select(inbox))] == ["delivered"]


def test_14_call_that_began_nothing_is_run_again_though_it_is_not_repeatable(stage: Stage) -> None:
    """Its process dies while it says so: before that is stored, the outcome is unknown and the tool is left alone."""
    store, ws = stage.store, stage.store.workspace_id
    task = new_task(store)
    tell(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id

    def away(_call: CallContext) -> None:
        raise UnavailableError("nobody there")

    made = parts(store, ScriptedModel(says("", ("note", "{}"), ("note", '{"text": "2"}'))), Note(during=away))
    entering.open_turn(made, ws, turn_id, "run-1")
    steps.decide(made, ws, turn_id, "run-1", 1)

    def both() -> None:
        failing = parts(store, ScriptedModel(), Note(repeatable=False, during=away))
        for seq in range(2):
            with suppress(UnavailableError):
                calling.run_call(failing, ws, turn_id, "run-1", 1, seq)

    stage.die("nothing_begun", both)

    with store.database.reading(ws) as scope:
        first, second = ledger.calls_of(scope, [turn_id])
    assert (first.status, second.status) == ("outcome_unknown", "proposed")
    finished = parts(store, ScriptedModel(says("done")), note := Note(repeatable=False))
    assert driving.run(finished, store, turn_id, "run-1") == "completed"
    assert note.ran == [second.id]


def test_16_request_that_failed_gives_its_messages_back(stage: Stage) -> None:
    store, ws = stage.store, stage.store.workspace_id
    task = new_task(store)
    asked = tell(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id
    entering.open_turn(parts(store, ScriptedModel()), ws, turn_id, "run-1")

    def ask() -> None:
        failing = parts(store, ScriptedModel(UnavailableError("the model is away")))
        with suppress(UnavailableError):
            steps.decide(failing, ws, turn_id, "run-1", 1)

    stage.die("step_failed", ask)

    with store.database.reading(ws) as scope:
        assert [(row.ref_id, row.state) for row in scope.rows(scope.select(inbox))] == [(asked, "delivered")]
    assert newest_turn(store, task.id).lease_token is None
    assert driving.run(parts(store, ScriptedModel(says("done"))), store, turn_id, "run-1") == "completed"
    assert driving.message(store, asked).state == "answered"


def test_18_heart_that_stops_between_two_beats_leaves_the_turn_to_the_next(stage: Stage) -> None:
    store, ws = stage.store, stage.store.workspace_id
    task = new_task(store)
    tell(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id
    entering.open_turn(parts(store, ScriptedModel()), ws, turn_id, "run-1")

    def work() -> None:
        with hold(store.database, ws, turn_id, "run-1", SHORT) as fence:
            time.sleep(SHORT.total_seconds())
            with store.database.transaction(ws) as scope:
                fence.release(scope)

    stage.die("turn_renewed", work)

    assert (newest_turn(store, task.id).epoch, newest_turn(store, task.id).lease_token) == (3, None)


def test_13_question_to_a_person_is_put_once(stage: Stage) -> None:
    store, ws = stage.store, stage.store.workspace_id
    task = new_task(store)
    tell(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id
    ask = ("ask_user", '{"kind": "choice", "title": "Which?", "options": [{"id": "a", "label": "A"}]}')
    made = parts(store, ScriptedModel(says("", ask), says("Please choose.")))
    entering.open_turn(made, ws, turn_id, "run-1")
    steps.decide(made, ws, turn_id, "run-1", 1)

    stage.die("asked", lambda: calling.run_call(made, ws, turn_id, "run-1", 1, 0))

    with store.database.reading(ws) as scope:
        assert len(cards.open_cards(scope, task.id)) == 1
    assert driving.run(made, store, turn_id, "run-1") == "gated"


def test_4_near_duplicate_is_judged_again_and_makes_no_second_task(stage: Stage) -> None:
    world, _ = scripted(stage.store)
    task = world.task("Three retro posters for the Harbour Festival in navy and cream")
    message = world.say("Make three retro posters for the Harbour Festival in navy and cream")

    def judge() -> None:
        answers = (verdict("new"), verdict("existing", task_id=task.id))
        deciding.judge(scripted(stage.store, *answers)[0].parts, stage.store.workspace_id, message.id)

    stage.die("duplicate", judge)

    routed = world.route(message)
    assert (routed.task_id, len(world.all_tasks())) == (task.id, 1)


def test_24_watcher_that_dies_in_a_repair_is_followed(stage: Stage) -> None:
    """Both messages are unread and without a turn; what the dead one had not stored is found again."""
    store, ws = stage.store, stage.store.workspace_id
    made = [new_task(store) for _ in range(2)]
    for task in made:
        with store.database.transaction(ws) as scope:
            scope.insert(
                inbox, id=scope.ids.new("in"), task_id=task.id, kind="message", ref_id="msg_gone", state="delivered",
                created_at=scope.now - timedelta(minutes=1),
            )  # fmt: skip

    stage.die("watch_of_the_runtime", lambda: watching.pass_over(store.database, ws, timedelta(hours=1), LEASE))

    assert [newest_turn(store, task.id).status for task in made] == ["queued", "queued"]


def test_22_watcher_that_dies_over_an_order_is_followed(stage: Stage) -> None:
    _, order = stage.ordered()
    stage.store.clock.advance(timedelta(minutes=1))

    def look() -> None:
        order_watching.pass_over(stage.store.database, stage.store.workspace_id, 1, timedelta(seconds=10))

    stage.die("watch_of_the_orders", look)

    assert stage.world().get(order.id).ring >= 1


def test_15_watcher_that_dies_with_its_lease_is_followed(stage: Stage) -> None:
    database = stage.store.database

    def watch_once() -> None:
        assert leases.take(database, "watch", "mine", timedelta(seconds=25))
        leases.free(database, "watch", "mine")

    stage.die("watcher", watch_once)

    assert leases.take(database, "watch", "another", timedelta(seconds=25))


def test_pruning_that_died_is_done_an_hour_later(stage: Stage) -> None:
    database, ws = stage.store.database, stage.store.workspace_id

    def prune() -> None:
        deaths = len(list((stage.folder / "crash").iterdir()))
        stage.store.clock.advance(2 * pruning.PAUSE * (deaths + 1))
        pruning.pass_over(database, ws)
        with database.reading(ws) as scope:
            assert scope.rows(scope.select(replies)) == []

    with database.transaction(ws) as scope:
        long_ago = scope.now - timedelta(days=9)
        scope.insert(replies, key="old", endpoint="POST /", digest="", created_at=long_ago)

    stage.die("pruned", prune)


def test_30_order_whose_run_is_long_is_handed_to_the_next(stage: Stage) -> None:
    _, order = stage.ordered()
    database, ws = stage.store.database, stage.store.workspace_id

    stage.die("order_handed_over", lambda: ring_for_next_run(database, ws, order.id))

    assert stage.world().get(order.id).ring == 2


def test_34_order_that_fails_gives_its_money_back_once(stage: Stage) -> None:
    stage.studio.fault("empty_output", times=1)
    task, order = stage.ordered()

    stage.die("order_ended", lambda: stage.world().follow(order))

    _assert_ended(stage, task, order, "failed", released=1)


def test_38_charge_above_the_quote_is_booked_once_and_the_next_act_is_asked_about(stage: Stage) -> None:
    task, order = stage.ordered()
    stage.world().poll(order)

    def follow() -> None:
        world = stage.world()
        until("made or over", lambda: world.poll(order).next != "wait", 30)
        if not world.get(order.id).open:
            return
        with world.scope() as scope:
            scope.change(scope.update(orders).where(orders.c.id == order.id).values(charge=order.quote * 3))
        world.settle(order)

    stage.die("overcharged", follow)

    world = stage.world()
    assert world.money("settle") == [order.quote * 3]
    assert "held" not in world.reservation_states()
    with world.scope() as scope:
        facts = guard.gather_facts(
            scope,
            effect=Effect.PAID,
            person_id=stage.store.person_id,
            asked_by="person",
            task_id=task.id,
            amount=order.quote,
        )
    verdict = guard.decide(facts)
    assert isinstance(verdict, guard.NeedsQuote)
    assert verdict.limit == "overcharge"


def test_37_two_processes_that_want_the_last_of_the_day_get_it_once(stage: Stage) -> None:
    world = stage.world()
    world.limits(free_per_day=Decimal("0.25"))
    pairs = [(task, world.turn(task)) for task in (world.task("one"), world.task("other"))]
    for _, fence in pairs:
        world.decide(fence, 1, FILM_5)

    def place(task: Task, fence: TurnFence) -> None:
        stage.world().call(task, fence, 1, 0)

    at_once(stage.store, [partial(place, *pair) for pair in pairs])

    after = stage.world()
    assert (len(after.orders()), len(after.cards())) == (1, 1)


def test_18_heart_that_stops_while_a_job_is_sent_leaves_it_to_the_next(stage: Stage) -> None:
    """The job of the first one is found by its key, so that a second order meets the other death."""
    stage.studio.fault("delay_reply:1.5", times=2)
    world = stage.world()
    task = world.task()
    fence = world.turn(task)
    both = [world.order(task, fence, n) for n in (1, 2)]

    stage.die("order_renewed", lambda: [stage.world(lease_seconds=1).follow(order) for order in both])

    for order in both:
        _assert_made_once(stage, task, order)


def test_27_order_that_was_not_accepted_is_sent_later(stage: Stage) -> None:
    stage.studio.fault("busy", times=2)
    task, order = stage.ordered()

    stage.die("put_back", lambda: stage.world().follow(order))

    _assert_made_once(stage, task, order)


def test_27_unclear_submission_is_noted_and_found(stage: Stage) -> None:
    """The death before the note ends the first attempt's story; a second order meets the death after it."""
    stage.studio.fault("drop_after_store", times=2)
    world = stage.world()
    task = world.task()
    fence = world.turn(task)
    one, two = (world.order(task, fence, n) for n in (1, 2))

    stage.die("unclear", lambda: [stage.world().follow(order) for order in (one, two)])

    _assert_made_once(stage, task, one)
    _assert_made_once(stage, task, two)


def test_31_question_for_a_job_by_its_key_may_be_asked_again(stage: Stage) -> None:
    stage.studio.fault("drop_after_store", times=1)
    task, order = stage.ordered()

    stage.die("looked_up", lambda: stage.world().follow(order))

    _assert_made_once(stage, task, order)


def test_30_trouble_with_the_provider_is_noted_and_passes(stage: Stage) -> None:
    stage.studio.fault("error_status:502", times=2)
    task, order = stage.ordered()

    stage.die("trouble", lambda: stage.world().follow(order))

    _assert_made_once(stage, task, order)


def test_28_bytes_that_were_stored_before_a_death_are_one_work(stage: Stage) -> None:
    task, order = stage.ordered()

    stage.die("stored", lambda: stage.world().follow(order))

    _assert_made_once(stage, task, order)


def test_19_question_for_prices_comes_before_any_order(stage: Stage) -> None:
    world = stage.world()
    task = world.task()
    fence = world.turn(task)
    world.decide(fence, 1, ("generate_audio", {"prompt": "Waves", "title": "Waves", "seconds": 3}))

    stage.die("priced", lambda: stage.world().call(task, fence, 1, 0))

    assert len(stage.world().orders()) == 1


def _assert_made_once(stage: Stage, task: Task, order: Order) -> None:
    _assert_ended(stage, task, order, "succeeded", released=0)
    assert [row["idempotency_key"] for row in stage.studio.bill()].count(order.key) == 1


def _assert_ended(stage: Stage, task: Task, order: Order, state: str, *, released: int) -> None:
    world = stage.world()
    ended = world.get(order.id)
    assert (ended.state, len(ended.object_ids)) == (state, 1 - released)
    with stage.store.database.reading(stage.store.workspace_id) as scope:
        outcomes = scope.rows(scope.select(inbox).where(inbox.c.task_id == task.id, inbox.c.ref_id == order.id))
    assert len(outcomes) == 1
    assert world.money("release").count(order.quote) == released
    assert "held" not in world.reservation_states()

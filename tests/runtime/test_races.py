"""Two transactions at once on the rows of one task: nobody waits in a circle, nothing is lost."""

from __future__ import annotations

import itertools
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

import pytest

from core.database import Scope
from core.errors import ConflictError, LoopwrightError
from core.llm.scripted_model import ScriptedModel, says
from runtime.cards import cards
from runtime.cards.answers import CardAnswers, answer_card, deliver_card_answer
from runtime.cards.cards import Card
from runtime.commands import control
from runtime.commands.card_answers import RUNTIME_CARD_ANSWERS
from runtime.inbox import inbox, messages
from runtime.loop import decision, entry, turn_end
from runtime.statuses import OPEN_TURN_STATUSES, CardKind, InputKind
from runtime.tables import inbox as inbox_rows
from runtime.tasks import tasks
from runtime.turns import rows
from runtime.turns.lease import hold_turn_lease
from tests.runtime.turn_driver import (
    LEASE,
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

PATIENCE = 20.0


def _while_open(store: Store, act: Future[object]) -> None:
    """Let the other transaction come as far as it can; on SQLite it waits for ours to end."""
    if not store.database.url.startswith("sqlite"):
        threading.Event().wait(0.5)
    assert not act.done() or act.exception() is None


def test_message_that_comes_while_a_turn_closes_is_read_by_the_next(store: Store) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id
    dependencies = runtime_dependencies(store, ScriptedModel(says("one")))
    entry.open_turn(dependencies, store.workspace_id, turn_id, "run-1")
    decision.decide_step(dependencies, store.workspace_id, turn_id, "run-1", 1)

    with (
        ThreadPoolExecutor(1) as pool,
        hold_turn_lease(store.database, store.workspace_id, turn_id, "run-1", LEASE) as fence,
    ):
        with store.database.transaction(store.workspace_id) as scope:
            fence.check(scope)
            late: Future[object] = pool.submit(post_words, store, task.id, "late")
            _while_open(store, late)
            tasks.lock_task(scope, task.id)
            fence.release(scope)
        said = str(late.result(PATIENCE))
    turn_end.close_turn(dependencies, store.workspace_id, turn_id, "run-1")
    following = newest_turn(store, task.id)

    assert following.id != turn_id
    drive_turn(runtime_dependencies(store, ScriptedModel(says("two"))), store, following.id, "run-2")
    assert get_message(store, said).state == "answered"


@pytest.mark.case("B57")
def test_two_inputs_delivered_at_once_queue_one_turn(store: Store) -> None:
    task = new_task(store)
    both = threading.Barrier(2)

    def deliver(n: int) -> None:
        with store.database.transaction(store.workspace_id) as scope:
            inbox.store_input(scope, task.id, InputKind.OUTCOME, f"order-{n}")
            if not store.database.url.startswith("sqlite"):
                both.wait(PATIENCE)
            inbox.deliver_input(scope, task.id, InputKind.OUTCOME, f"order-{n}")

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(deliver, range(2)))

    with store.database.reading(store.workspace_id) as scope:
        assert len(inbox.list_unread(scope, task.id)) == 2
    assert newest_turn(store, task.id).status == "queued"


def test_answer_and_stop_at_once_have_one_order(store: Store) -> None:
    task = new_task(store)
    options = [{"id": "a", "label": "A"}]
    with store.database.transaction(store.workspace_id) as scope:
        card = cards.open_card(
            scope, kind=CardKind.CHOICE, title="?", body="", options=options, cause="c", task_id=task.id
        )

    def stop() -> None:
        with store.database.transaction(store.workspace_id) as scope:
            control.stop_task(scope, task.id)

    def slow_handler(scope: Scope, answered: Card) -> None:
        _while_open(store, stopping[0])
        deliver_card_answer(scope, answered)

    stopping: list[Future[object]] = []
    with ThreadPoolExecutor(1) as pool, store.database.transaction(store.workspace_id) as scope:
        stopping.append(pool.submit(stop))
        try:
            answer_card(scope, card.id, "a", None, store.person_id, CardAnswers({(CardKind.CHOICE, ""): slow_handler}))
        except ConflictError:
            assert cards.get_card(scope, card.id).state == "void"
    stopping[0].result(PATIENCE)

    assert get_task(store, task.id).status == "stopped"


@pytest.mark.case("B56", "B57")
def test_burst_of_messages_is_read_once_each_and_in_order(store: Store) -> None:
    task = new_task(store)
    sent: list[str] = []

    def write() -> None:
        for n in range(15):
            sent.append(post_words(store, task.id, f"message {n}"))

    writer = threading.Thread(target=write)
    writer.start()
    model = ScriptedModel(*[says(f"answer {n}") for n in range(60)])
    dependencies = runtime_dependencies(store, model)
    runs = itertools.count()
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        writer_done = not writer.is_alive()
        with store.database.reading(store.workspace_id) as scope:
            waiting = inbox.list_unread(scope, task.id)
        if waiting:
            drive_turn(dependencies, store, newest_turn(store, task.id).id, f"run-{next(runs)}")
        elif writer_done:
            break
        else:
            time.sleep(0.005)
    writer.join()

    with store.database.reading(store.workspace_id) as scope:
        thread = messages.list_task_messages(scope, task.id)
        items = scope.rows(scope.select(inbox_rows).where(inbox_rows.c.task_id == task.id))
    assert sorted(item.position for item in items) == list(range(1, 16))
    assert {one.state for one in thread if one.author == "user"} == {"answered"}
    assert get_turn(store, newest_turn(store, task.id).id).status == "completed"


def _stop(store: Store, task_id: str, _card: str) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        control.stop_task(scope, task_id)


def _press(store: Store, task_id: str, card_id: str, option: str = "stop") -> None:
    del task_id
    with store.database.transaction(store.workspace_id) as scope:
        answer_card(scope, card_id, option, None, store.person_id, CardAnswers(RUNTIME_CARD_ANSWERS))


def _resume(store: Store, task_id: str, _card: str) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        control.resume_task(scope, task_id)


def _retry(store: Store, task_id: str, card_id: str) -> None:
    _press(store, task_id, card_id, "retry")


def _tell(store: Store, task_id: str, _card: str) -> None:
    post_words(store, task_id, "one more word")


def _enter(store: Store, task_id: str, _card: str) -> None:
    """A run enters the newest turn and decides a step of it, which closes the card that says `blocked`."""
    turn_id = newest_turn(store, task_id).id
    dependencies = runtime_dependencies(store, ScriptedModel(says("one"), says("two")))
    if isinstance(entry.open_turn(dependencies, store.workspace_id, turn_id, "run-1"), int):
        decision.decide_step(dependencies, store.workspace_id, turn_id, "run-1", 1)


ACTS = (_stop, _stop, _press, _resume, _retry, _tell, _enter)


@pytest.mark.parametrize("store", [pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True)
@pytest.mark.parametrize(
    ("one", "other"), list(itertools.combinations(range(len(ACTS)), 2)), ids=lambda n: ACTS[n].__name__.strip("_")
)
def test_two_acts_at_once_end_without_waiting_in_a_circle(store: Store, one: int, other: int) -> None:
    """What only comes too late is told so; a circle would end as the database's own error."""
    for status in ("blocked", "paused"):
        task = new_task(store)
        post_words(store, task.id, "go")
        options = turn_end.BLOCKED_OPTIONS
        with store.database.transaction(store.workspace_id) as scope:
            tasks.set_task_fields(scope, task.id, status=status)
            card = cards.open_card(
                scope,
                kind=CardKind.BLOCKED,
                title="?",
                body="",
                options=options,
                cause=f"blocked:{task.id}",
                task_id=task.id,
            )
        start = threading.Barrier(2)

        def act(n: int, task_id: str = task.id, card_id: str = card.id, start: threading.Barrier = start) -> None:
            start.wait(PATIENCE)
            with suppress(LoopwrightError):
                ACTS[n](store, task_id, card_id)

        with ThreadPoolExecutor(2) as pool:
            for running in [pool.submit(act, n) for n in (one, other)]:
                running.result(PATIENCE)
        with store.database.reading(store.workspace_id) as scope:
            open_turns = [one for one in rows.list_turns_of_task(scope, task.id) if one.status in OPEN_TURN_STATUSES]
            left = cards.list_open_cards(scope, task.id)
        ended = get_task(store, task.id).status == "stopped"
        assert ended or _stop not in (ACTS[one], ACTS[other])
        assert not (ended and (open_turns or left))


@pytest.mark.parametrize("store", [pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True)
def test_two_presses_of_stop_meet_in_the_middle(store: Store) -> None:
    """The first one has taken the turn when the second one comes, and still has the cards and the task to take."""
    task = new_task(store)
    post_words(store, task.id, "go")
    with store.database.transaction(store.workspace_id) as scope:
        for n in range(3):
            cards.open_card(
                scope, kind=CardKind.CHOICE, title="?", body="", options=[{"id": "a", "label": "A"}], cause=f"c{n}",
                task_id=task.id,
            )  # fmt: skip
    with ThreadPoolExecutor(1) as pool:
        with store.database.transaction(store.workspace_id) as scope:
            tasks.lock_task_with_turn(scope, task.id)
            second = pool.submit(_stop, store, task.id, "")
            threading.Event().wait(0.3)
            control.stop_task(scope, task.id)
        second.result(PATIENCE)

    assert get_task(store, task.id).status == "stopped"
    with store.database.reading(store.workspace_id) as scope:
        assert cards.list_open_cards(scope, task.id) == []

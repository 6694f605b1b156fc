"""Whoever waits is woken: moved messages, blocked tasks, expired cards, and a pass of the watch for every bell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta

import pytest

from core.errors import UnavailableError
from core.events import (
    AgentEvent,
    Bell,
    ForgetRequested,
    GenerationNews,
    GenerationOrdered,
    MainRequested,
    MessageAnswered,
    MessageReceived,
    NoticeRequested,
    SearchChanged,
    SkillQuarantined,
    SkillReviewRequested,
    TurnFinished,
    TurnRequested,
    WatchRequested,
)
from core.llm.scripted_model import ScriptedModel, says
from runtime import notices, recovery
from runtime.cards import cards
from runtime.cards.answers import CardAnswers, answer_card
from runtime.commands import control
from runtime.commands.card_answers import RUNTIME_CARD_ANSWERS
from runtime.inbox import inbox, messages
from runtime.loop import entry, turn_end
from runtime.statuses import CardKind, InputKind, WaitKind
from runtime.tables import inbox as inbox_rows
from runtime.tasks import tasks, waits
from tests.runtime.turn_driver import (
    LEASE,
    Note,
    drive_turn,
    get_task,
    main_turn,
    new_task,
    newest_turn,
    post_words,
    runtime_dependencies,
)
from tests.support.databases import Store

PAUSE = timedelta(seconds=10)
CHOICE = [{"id": "a", "label": "A"}]


def _watch(store: Store, after: timedelta = timedelta(0)) -> None:
    store.clock.advance(after)
    recovery.recover_workspace(store.database, store.workspace_id, PAUSE, LEASE)


def _move(store: Store, message_id: str, source: str, target: str) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        mine = scope.update(inbox_rows).where(inbox_rows.c.ref_id == message_id, inbox_rows.c.task_id == source)
        scope.change(mine.values(state="moved"))
        inbox.deliver_input(scope, target, InputKind.MESSAGE, message_id)


def test_message_that_moves_to_another_task_and_back_wakes_each(store: Store) -> None:
    one, other = new_task(store, "one"), new_task(store, "other")
    message = post_words(store, one.id, "go")
    drive_turn(runtime_dependencies(store, ScriptedModel(says("ok"))), store, newest_turn(store, one.id).id)
    later = post_words(store, one.id, "and this")
    _move(store, later, one.id, other.id)

    assert newest_turn(store, other.id).status == "queued"
    _move(store, later, other.id, one.id)
    drive_turn(runtime_dependencies(store, ScriptedModel(says("done"))), store, newest_turn(store, one.id).id, "run-2")

    with store.database.reading(store.workspace_id) as scope:
        assert [m.state for m in (messages.get_message(scope, message), messages.get_message(scope, later))] == [
            "answered",
            "answered",
        ]


def _blocked(store: Store) -> str:
    task = new_task(store)
    post_words(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id
    dependencies = runtime_dependencies(store, ScriptedModel())
    entry.open_turn(dependencies, store.workspace_id, turn_id, "run-1")
    assert turn_end.fail_turn(dependencies, store.workspace_id, turn_id, "run-1", "the model is gone")
    assert get_task(store, task.id).status == "blocked"
    return task.id


def test_message_to_a_blocked_task_takes_it_up_and_its_card_goes(store: Store) -> None:
    task_id = _blocked(store)
    post_words(store, task_id, "try it differently")

    status = drive_turn(
        runtime_dependencies(store, ScriptedModel(says("better"))), store, newest_turn(store, task_id).id, "run-2"
    )

    assert (status, get_task(store, task_id).status) == ("completed", "done")
    with store.database.reading(store.workspace_id) as scope:
        assert [card.state for card in cards.list_cards(scope, task_id=task_id)] == ["superseded"]


def test_retry_on_a_task_that_is_at_work_again_is_accepted(store: Store) -> None:
    task_id = _blocked(store)
    post_words(store, task_id, "go on")

    with store.database.transaction(store.workspace_id) as scope:
        card = cards.list_open_cards(scope, task_id)[0]
        answered = answer_card(scope, card.id, "retry", None, store.person_id, CardAnswers(RUNTIME_CARD_ANSWERS))

    assert answered.state == "answered"
    assert newest_turn(store, task_id).status == "queued"


def test_messages_of_a_failed_turn_are_read_by_the_next(store: Store) -> None:
    task_id = _blocked(store)
    with store.database.transaction(store.workspace_id) as scope:
        control.resume_task(scope, task_id)
    model = ScriptedModel(says("here"))

    drive_turn(runtime_dependencies(store, model), store, newest_turn(store, task_id).id, "run-2")

    assert '"text": "go"' in str(model.requests[0][0][-1]["content"])


def test_card_that_expires_wakes_the_task_that_waits_for_it(store: Store) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")
    until = store.clock.now() + timedelta(days=1)

    def ask(_call: object) -> None:
        with store.database.transaction(store.workspace_id) as scope:
            cards.open_card(
                scope, kind=CardKind.CHOICE, title="?", body="", options=CHOICE, cause="c", task_id=task.id,
                expires_at=until,
            )  # fmt: skip

    asking = runtime_dependencies(store, ScriptedModel(says("", ("note", "{}")), says("which?")), Note(during=ask))
    assert drive_turn(asking, store, newest_turn(store, task.id).id) == "gated"

    _watch(store, timedelta(days=1, seconds=1))
    model = ScriptedModel(says("It has expired."))
    drive_turn(runtime_dependencies(store, model), store, newest_turn(store, task.id).id, "run-2")

    assert '"option": "expired"' in str(model.requests[0][0][-1]["content"])


def test_queued_turn_of_a_paused_task_is_not_rung_for_until_it_is_resumed(store: Store) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")
    with store.database.transaction(store.workspace_id) as scope:
        control.pause_task(scope, task.id)

    for _ in range(5):
        _watch(store, timedelta(minutes=1))

    assert [name for name in store.bells.ids() if name.startswith("turn_")] == [f"{newest_turn(store, task.id).id}:1"]


def test_message_of_a_waiting_task_without_a_turn_gets_one(store: Store) -> None:
    task = new_task(store)
    first = post_words(store, task.id, "go")
    drive_turn(runtime_dependencies(store, ScriptedModel(says("ok"))), store, newest_turn(store, task.id).id)
    with store.database.transaction(store.workspace_id) as scope:
        waits.begin_wait(scope, task.id, newest_turn(store, task.id).id, WaitKind.GENERATION, ["order_x"])
        tasks.set_task_fields(scope, task.id, status="waiting")
        mine = scope.update(inbox_rows).where(inbox_rows.c.ref_id == first)
        scope.change(mine.values(state="delivered"))

    _watch(store, timedelta(seconds=2))

    assert newest_turn(store, task.id).status == "queued"


def _message_unrouted(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        messages.receive_message(scope, person_id=store.person_id, asked_by="person", channel_id=None, text="hello")


def _task_turn_queued(store: Store) -> None:
    post_words(store, new_task(store).id, "go")


def _task_turn_lost(store: Store) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")
    entry.open_turn(
        runtime_dependencies(store, ScriptedModel()), store.workspace_id, newest_turn(store, task.id).id, "run-1"
    )


def _task_turn_handed_over(store: Store) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")
    made, turn_id = runtime_dependencies(store, ScriptedModel()), newest_turn(store, task.id).id
    entry.open_turn(made, store.workspace_id, turn_id, "run-1")
    entry.hand_over_turn(made, store.workspace_id, turn_id, "run-1")


def _main_turn_queued(store: Store) -> None:
    main_turn(store, "hello")


def _main_turn_lost(store: Store) -> None:
    _, turn_id = main_turn(store, "hello")
    entry.open_turn(runtime_dependencies(store, ScriptedModel()), store.workspace_id, turn_id, "run-1")


def _notice_unsent(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        notices.store_notice(scope, "ops", "something", "cause")


LOSSES: Mapping[Callable[[Store], None], type[AgentEvent]] = {
    _message_unrouted: MessageReceived,
    _task_turn_queued: TurnRequested,
    _task_turn_lost: TurnRequested,
    _task_turn_handed_over: TurnRequested,
    _main_turn_queued: MainRequested,
    _main_turn_lost: MainRequested,
    _notice_unsent: NoticeRequested,
}
ELSEWHERE: Mapping[type[AgentEvent], str] = {
    GenerationOrdered: "generation/execution/recovery.py, tested there",
    GenerationNews: "the order's own poll looks again after its pause",
    TurnFinished: "memory/watching.py, tested there",
    MessageAnswered: "memory/watching.py, tested there",
    ForgetRequested: "memory/watching.py, tested there",
    SearchChanged: "core/search/index_sync.py, tested there",
    WatchRequested: "the watch's own cron",
    SkillQuarantined: "the notice says it; nobody needs the bell",
    SkillReviewRequested: "skills/review/reviews.py, tested there",
}


@pytest.mark.parametrize("lose", LOSSES, ids=lambda lose: lose.__name__.strip("_"))
def test_every_bell_that_is_lost_is_rung_again_under_a_new_id(store: Store, lose: Callable[[Store], None]) -> None:
    lose(store)
    before = {bell.id for bell in store.bells.rung}
    lost = LOSSES[lose]
    assert lost in {type(bell.event) for bell in store.bells.rung}

    _watch(store, LEASE + timedelta(seconds=1))

    again: list[Bell] = [bell for bell in store.bells.rung if bell.id not in before]
    assert [type(bell.event) for bell in again] == [lost]


def test_every_event_has_a_pass_or_says_why_it_needs_none() -> None:
    assert set(AgentEvent.__subclasses__()) == {*LOSSES.values(), *ELSEWHERE}


def test_turn_that_never_comes_further_is_given_up_after_ever_longer_waits(store: Store) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id
    dependencies = runtime_dependencies(store, ScriptedModel())
    entry.open_turn(dependencies, store.workspace_id, turn_id, "run-0")
    rung = 0
    for _ in range(2000):
        _watch(store, timedelta(seconds=30))
        if get_task(store, task.id).status == "blocked":
            break
        now = sum(name.startswith(f"{turn_id}:") for name in store.bells.ids())
        if now > rung:
            rung = now
            entry.open_turn(dependencies, store.workspace_id, turn_id, f"run-{now}")

    assert get_task(store, task.id).status == "blocked"
    assert newest_turn(store, task.id).status == "failed"
    assert rung <= recovery.MOST_RINGS + 1


def test_failing_tool_that_began_nothing_is_run_again_though_it_is_not_repeatable(store: Store) -> None:
    task = new_task(store)
    post_words(store, task.id, "go")

    def away_once(_call: object) -> None:
        if len(note.ran) == 1:
            raise UnavailableError("no answer; nothing was begun")

    note = Note(repeatable=False, during=away_once)
    model = ScriptedModel(says("", ("note", "{}")), says("done"))
    dependencies = runtime_dependencies(store, model, note)
    turn_id = newest_turn(store, task.id).id
    with pytest.raises(UnavailableError):
        drive_turn(dependencies, store, turn_id)

    assert drive_turn(dependencies, store, turn_id) == "completed"
    assert len(note.ran) == 2

"""Order, replays and races of routing: each message is routed once, oldest first."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from core.errors import BusyError
from core.llm.port import ChatMessage as ModelMessage
from core.llm.port import Verdict
from core.llm.scripted_model import ScriptedModel
from router import dispatch, judgement
from runtime.commands import control, withdrawal
from tests.router.world import RouterWorld, scripted, verdict
from tests.support.databases import Store


@pytest.mark.case("B57")
def test_the_oldest_message_goes_first_whichever_bell_rang(store: Store) -> None:
    world, _ = scripted(store)
    task = world.task("Posters")
    first, second = world.say("one", to_task_id=task.id), world.say("two", to_task_id=task.id)
    store.bells.rung.clear()
    assert world.route(second).id == first.id
    # the next one is rung for
    assert f"{second.id}:after-{first.id}" in store.bells.ids()
    assert world.route(first).id == second.id
    assert [ref for ref, _ in world.inbox_of(task.id)] == [first.id, second.id]
    assert world.route(second).state == "delivered"


@pytest.mark.case("B56")
def test_replayed_steps_have_one_effect(store: Store) -> None:
    world, model = scripted(store, verdict("new"))
    message = world.say("Make three posters for the fair")
    for _ in range(2):
        assert judgement.pick_message(world.dependencies, world.workspace_id, message.id) is not None
    for _ in range(2):
        judgement.judge_message(world.dependencies, world.workspace_id, message.id)
    for _ in range(3):
        dispatch.dispatch_message(world.dependencies, world.workspace_id, message.id)
    assert len(model.requests) == 1
    (task,) = world.all_tasks()
    assert world.inbox_of(task.id) == [(message.id, "delivered")]
    assert len(world.open_turns()) == 1


def test_a_verdict_that_was_stored_is_not_asked_for_again_by_another_run(store: Store) -> None:
    world, model = scripted(store, verdict("new"))
    message = world.say("Make three posters for the fair")
    judgement.judge_message(world.dependencies, world.workspace_id, message.id)
    # the first run was lost before it delivered
    assert world.route(message).state == "delivered"
    assert len(model.requests) == 1


def test_a_message_taken_back_while_the_model_thinks_goes_nowhere(store: Store) -> None:
    message_id = ""

    class Slow(ScriptedModel):
        def verdict(self, name: str, shape: type[Verdict], asked: Sequence[ModelMessage]) -> Verdict:
            with store.database.transaction(store.workspace_id) as scope:
                withdrawal.withdraw_message(scope, message_id)
            return super().verdict(name, shape, asked)

    world = RouterWorld(store, Slow(verdicts=[verdict("new")]))
    message = world.say("Make three posters for the fair")
    message_id = message.id
    assert world.route(message).state == "withdrawn"
    assert world.all_tasks() == []


@pytest.mark.boundary(3)
def test_a_task_stopped_between_verdict_and_delivery_takes_nothing(store: Store) -> None:
    world, _ = scripted(store)
    task = world.task("Posters")
    world.foresee(verdict("existing", task_id=task.id))
    message = world.say("make them blue please")
    judgement.judge_message(world.dependencies, world.workspace_id, message.id)
    with store.database.transaction(store.workspace_id) as scope:
        control.stop_task(scope, task.id)
    dispatch.dispatch_message(world.dependencies, world.workspace_id, message.id)
    assert world.message(message.id).state == "answered"
    assert world.inbox_of(task.id) == []


def test_a_bell_without_its_message_does_nothing(store: Store) -> None:
    world, model = scripted(store)
    assert judgement.pick_message(world.dependencies, world.workspace_id, "msg_forged") is None
    assert model.requests == []


def test_one_persons_words_do_not_route_anothers(store: Store) -> None:
    world, _ = scripted(store)
    task = world.task("Posters")
    other = world.say("mine", person_id="person_other", to_task_id=task.id)
    mine = world.say("two", to_task_id=task.id)
    assert world.route(mine).id == mine.id
    assert world.message(other.id).state == "received"


class Slow(ScriptedModel):
    """Answers a verdict when it is told to."""

    def __init__(self, *verdicts: dict[str, Any]) -> None:
        super().__init__(verdicts=verdicts)
        self.asked, self.may_answer = threading.Event(), threading.Event()

    def verdict(self, name: str, shape: type[Verdict], messages: Sequence[ModelMessage]) -> Verdict:
        self.asked.set()
        assert self.may_answer.wait(30)
        return super().verdict(name, shape, messages)


@pytest.mark.case("B57")
def test_a_message_is_judged_by_one_execution_at_a_time(store: Store) -> None:
    """Without this the second one, having looked before the verdict was stored, would ask for it just after."""
    model = Slow(verdict("main"))
    world = RouterWorld(store, model)
    message = world.say("Which video lengths can you do?")
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(judgement.judge_message, world.dependencies, world.workspace_id, message.id)
        assert model.asked.wait(30)
        with pytest.raises(BusyError):
            judgement.judge_message(world.dependencies, world.workspace_id, message.id)
        model.may_answer.set()
        assert first.result(30) == "main"

    assert judgement.judge_message(world.dependencies, world.workspace_id, message.id) == "main"
    assert len(model.requests) == 1

"""Remembering and forgetting: a process dies at each of their points, and what follows does the work once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from core.errors import ModelError
from core.llm.port import ChatMessage, Verdict
from core.llm.scripted_model import ScriptedModel, says
from memory import cascade, keeping, looking, readings, receipts
from memory.tools import memory_tools
from runtime.cards import cards
from runtime.loop import decision as steps
from runtime.loop import entry, tool_call
from runtime.turns import ledger_queries
from tests.faults.stage import Stage, commit
from tests.memory.world import MemoryWorld
from tests.runtime.turn_driver import new_task, newest_turn, post_words, runtime_dependencies

pytestmark = pytest.mark.kill

DEATHS: dict[str, tuple[str, ...]] = {
    "remembered": (*commit("memory.read"), *commit("memory.kept")),
    "unreadable": commit("memory.unread"),
    "forgotten": (*commit("memory.forgotten"), *commit("memory.checked")),
    "recalled": commit("memory.recalled"),
    "proposed": commit("memory.proposed"),
}


class Useless(ScriptedModel):
    """Says nothing that has the shape it was asked for."""

    def verdict(self, name: str, shape: type[Verdict], messages: Sequence[ChatMessage]) -> Verdict:
        raise ModelError(f"{name}: no such shape")


def test_what_was_said_is_remembered_once(stage: Stage) -> None:
    world = MemoryWorld(stage.store)
    message_id = world.say("Our colour is cobalt.")
    world.foresee({"text": "Our colour is cobalt.", "evidence": [1]})

    def remember() -> None:
        for candidate_id in looking.read_due_messages(world.dependencies, world.workspace_id, "run-1"):
            keeping.judge_candidate(world.dependencies, world.workspace_id, candidate_id)

    stage.die(DEATHS["remembered"], remember)

    fact = world.only()
    assert fact.text == "Our colour is cobalt."
    assert len(world.versions(fact.id)) == 1
    assert [(one.role, one.source_id) for one in world.evidence(fact.id)] == [("origin", message_id)]


def test_a_reading_that_gave_nothing_usable_leaves_the_words_due(stage: Stage) -> None:
    world, useless = MemoryWorld(stage.store), MemoryWorld(stage.store, Useless())
    world.say("Our colour is cobalt.")

    stage.die(
        DEATHS["unreadable"], lambda: looking.read_due_messages(useless.dependencies, world.workspace_id, "run-1")
    )

    world.foresee({"text": "Our colour is cobalt.", "evidence": [1]})
    with stage.store.database.reading(world.workspace_id) as scope:
        assert len(readings.due_messages(scope)) == 1
    world.remember()
    assert world.texts() == ["Our colour is cobalt."]


@pytest.mark.boundary(42)
def test_confirmed_facts_are_forgotten_once_and_wholly(stage: Stage) -> None:
    world = MemoryWorld(stage.store)
    world.learn("Our colour is cobalt.")
    card = world.ask_to_forget(world.only().id)
    world.answer(card, "confirm")

    def forget() -> None:
        cascade.clear_forgotten(world.dependencies, world.workspace_id, card.id)
        receipts.check_forgotten(world.dependencies, world.workspace_id, card.id)

    stage.die(DEATHS["forgotten"], forget)

    receipt = world.receipt(card.id)
    assert (receipt.counts["facts"], receipt.checked is not None) == (1, True)
    assert world.texts() == []


def test_a_recall_is_noted_with_its_step_once(stage: Stage) -> None:
    world = MemoryWorld(stage.store)
    world.learn("Our colour is cobalt.")
    turn_id, recall = _asks(stage, world, ("recall", '{"query": "which colour?"}'))

    stage.die(DEATHS["recalled"], recall)

    with stage.store.database.reading(world.workspace_id) as scope:
        (step,) = ledger_queries.list_steps(scope, [turn_id])
    assert step.facts == (world.only().id,)


def test_a_person_is_asked_once_what_to_forget(stage: Stage) -> None:
    world = MemoryWorld(stage.store)
    world.learn("Our colour is cobalt.")
    fact_id = world.only().id
    _, ask = _asks(stage, world, ("propose_forget", f'{{"fact_ids": ["{fact_id}"]}}'))

    stage.die(DEATHS["proposed"], ask)

    with stage.store.database.reading(world.workspace_id) as scope:
        (card,) = cards.list_open_cards(scope)
    assert card.kind == "irreversible"
    assert world.texts() == ["Our colour is cobalt."]


def _asks(stage: Stage, world: MemoryWorld, call: tuple[str, str]) -> tuple[str, Callable[[], object]]:
    """A turn whose one step makes this call, and what runs the call."""
    store, ws = stage.store, stage.store.workspace_id
    task = new_task(store)
    post_words(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id
    dependencies = runtime_dependencies(
        store, ScriptedModel(says("", call)), *memory_tools(world.dependencies.search, 2.0)
    )
    entry.open_turn(dependencies, ws, turn_id, "run-1")
    steps.decide_step(dependencies, ws, turn_id, "run-1", 1)
    return turn_id, lambda: tool_call.run_call(dependencies, ws, turn_id, "run-1", 1, 0)

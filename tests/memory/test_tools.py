"""What the agent may do with the memory: look, and propose on cards; what was recalled goes with what is forgotten."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from core.errors import InvalidError, NotFoundError, RefusedError
from core.llm.scripted_model import ScriptedModel, says
from core.tools import Effect
from memory import cascade, readings
from memory.card_answers import MEMORY_CARD_ANSWERS
from memory.tools import memory_tools
from runtime.cards import cards
from runtime.cards.answers import CardAnswers, answer_card
from runtime.dependencies import RuntimeDependencies
from runtime.turns import ledger_queries
from runtime.turns.ledger import Call
from tests.memory.world import ANSWERS, MemoryWorld
from tests.runtime import turn_driver


def _runs(world: MemoryWorld, *script: Any) -> str:
    """A whole turn of a new task with this script; answers the turn's id."""
    task = turn_driver.new_task(world.store)
    turn_driver.post_words(world.store, task.id, "do as you are scripted")
    turn_id = turn_driver.newest_turn(world.store, task.id).id
    tools = memory_tools(world.dependencies.search, 2.0)
    made: RuntimeDependencies = turn_driver.runtime_dependencies(world.store, ScriptedModel(*script), *tools)
    turn_driver.drive_turn(made, world.store, turn_id)
    return turn_id


def _calls(world: MemoryWorld, turn_id: str) -> list[Call]:
    with world.store.database.reading(world.workspace_id) as scope:
        return ledger_queries.list_calls(scope, [turn_id])


def test_the_effects_say_what_each_may_do(world: MemoryWorld) -> None:
    assert {tool.name: tool.effect for tool in memory_tools(world.dependencies.search, 1.0)} == {
        "recall": Effect.READ,
        "propose_correction": Effect.WRITE,
        "propose_forget": Effect.IRREVERSIBLE,
    }


def test_a_recall_tells_facts_as_data_and_the_step_remembers_which(world: MemoryWorld) -> None:
    world.learn("Our colour is cobalt.")
    fact = world.only()

    turn_id = _runs(world, says("", ("recall", '{"query": "which colour?"}')), says("Cobalt."))

    [call] = _calls(world, turn_id)
    assert call.result is not None
    assert [one["text"] for one in call.result["facts"]] == ["Our colour is cobalt."]
    with world.store.database.reading(world.workspace_id) as scope:
        assert [step.facts for step in ledger_queries.list_steps(scope, [turn_id])] == [(fact.id,), ()]


@pytest.mark.boundary(54)
def test_what_a_call_was_told_is_shown_to_no_later_step_once_it_is_forgotten(world: MemoryWorld) -> None:
    world.learn("Our colour is cobalt.")
    turn_id = _runs(world, says("", ("recall", '{"query": "which colour?"}')), says("Done."))

    receipt = world.forget(world.only().id)

    assert receipt.counts["recalls"] == 1
    [call] = _calls(world, turn_id)
    assert "cobalt" not in str(call.result)
    assert call.ok


def test_a_proposal_to_forget_is_a_card_and_the_answer_reaches_the_task(world: MemoryWorld) -> None:
    world.learn("Our colour is cobalt.")
    fact = world.only()
    turn_id = _runs(world, says("", ("propose_forget", f'{{"fact_ids": ["{fact.id}"]}}')), says("I asked."))
    [call] = _calls(world, turn_id)
    assert call.result is not None
    assert call.result["state"] == "waiting_for_approval"
    assert world.texts() == ["Our colour is cobalt."]

    with world.store.database.transaction(world.workspace_id) as scope:
        card = answer_card(scope, call.result["card_id"], "confirm", None, world.store.person_id, ANSWERS)

    assert card.task_id is not None
    assert turn_driver.newest_turn(world.store, card.task_id).status == "queued"
    assert cascade.clear_forgotten(world.dependencies, world.workspace_id, card.id) == "cleared"
    assert world.facts() == []


def test_a_proposal_to_correct_shows_both_wordings(world: MemoryWorld) -> None:
    world.learn("Our colour is cobalt.")
    arguments = f'{{"fact_id": "{world.only().id}", "text": "Our colour is  navy"}}'
    turn_id = _runs(world, says("", ("propose_correction", arguments)), says("I asked."))
    [call] = _calls(world, turn_id)
    assert call.result is not None
    card_id, person_id = str(call.result["card_id"]), world.store.person_id
    answers = CardAnswers(MEMORY_CARD_ANSWERS)
    # What a person means is not for a program to say.
    with (
        pytest.raises(RefusedError, match="person"),
        world.store.database.transaction(world.workspace_id) as scope,
    ):
        answer_card(scope, card_id, "corrected", None, person_id, answers, speaks_as="program")
    with world.store.database.transaction(world.workspace_id) as scope:
        card = cards.get_card(scope, card_id)
        answer_card(scope, card_id, "corrected", None, person_id, answers)

    assert [option["label"] for option in card.options] == ["Our colour is navy", "Our colour is cobalt."]
    assert world.texts() == ["Our colour is navy"]


@pytest.mark.parametrize("fact_ids", ['["fact_made_up"]', '["fact_made_up", "x"]'])
def test_an_id_that_is_not_there_is_an_answer_and_no_card(world: MemoryWorld, fact_ids: str) -> None:
    turn_id = _runs(world, says("", ("propose_forget", f'{{"fact_ids": {fact_ids}}}')), says("There is none."))

    [call] = _calls(world, turn_id)
    assert call.ok is False
    with world.store.database.reading(world.workspace_id) as scope:
        assert cards.list_open_cards(scope) == []


def test_arguments_have_limits(world: MemoryWorld) -> None:
    tools = {tool.name: tool for tool in memory_tools(world.dependencies.search, 1.0)}
    for name, arguments in (
        ("recall", {"query": ""}),
        ("recall", {"query": "x", "limit": 1000}),
        ("recall", {"query": "x", "scope": "person:somebody"}),
        ("propose_forget", {"fact_ids": []}),
        ("propose_forget", {"fact_ids": ["x"] * 21}),
        ("propose_correction", {"fact_id": "x", "text": "y" * 501}),
    ):
        with pytest.raises(ValidationError):
            tools[name].arguments.model_validate(arguments)


def test_the_end_of_a_turn_rings_once_for_what_a_person_said_in_it(world: MemoryWorld) -> None:
    task = turn_driver.new_task(world.store)
    message = turn_driver.post_words(world.store, task.id, "Our colour is cobalt.")
    turn_id = turn_driver.newest_turn(world.store, task.id).id
    made = turn_driver.runtime_dependencies(world.store, ScriptedModel(says("Noted.")))
    made = replace(made, on_messages_read=readings.note_read)

    turn_driver.drive_turn(made, world.store, turn_id)

    assert world.store.bells.ids()[-1] == f"{turn_id}:finished"
    world.foresee({"text": "Our colour is cobalt", "evidence": [1]})
    assert world.remember() == ["kept new"]
    assert [one.source_id for one in world.evidence(world.only().id)] == [message]


def test_main_answers_and_the_message_is_read_for_what_to_remember(world: MemoryWorld) -> None:
    _message, turn_id = turn_driver.main_turn(world.store, "I like low saturation.")
    made = replace(
        turn_driver.runtime_dependencies(world.store, ScriptedModel(says("Good."))), on_messages_read=readings.note_read
    )

    turn_driver.drive_turn(made, world.store, turn_id)

    assert world.store.bells.ids()[-1] == f"{turn_id}:answered"


def test_forgetting_names_at_least_one_fact(world: MemoryWorld) -> None:
    with pytest.raises(InvalidError):
        world.ask_to_forget()
    with pytest.raises(NotFoundError):
        world.ask_to_forget("fact_made_up")

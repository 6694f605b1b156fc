"""From a person's words to facts with sources: one candidate at a time, numbers instead of ids, nothing twice."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from core.errors import LoopwrightError, ModelError, UnavailableError
from core.events import MessageAnswered
from core.llm.port import ChatMessage, Verdict
from core.llm.scripted_model import ScriptedModel
from memory import keeping, looking, watching
from memory.deciding import FactStanding
from tests.memory.world import MemoryWorld, asked_facts

PAUSE = timedelta(seconds=10)


class Useless(ScriptedModel):
    """Fails at every verdict."""

    def __init__(self, error: LoopwrightError) -> None:
        super().__init__()
        self._error = error

    def verdict(self, name: str, shape: type[Verdict], messages: Sequence[ChatMessage]) -> Verdict:
        self.requests.append((messages, ()))
        raise self._error


def test_what_a_person_states_is_a_fact_with_its_message_as_origin(world: MemoryWorld) -> None:
    message_id = world.say("Our brand colour is cobalt.")
    world.foresee({"text": "The brand colour is cobalt", "evidence": [1], "scope": "workspace", "standing": "stated"})

    assert world.remember() == ["kept new"]

    fact = world.only()
    assert (fact.text, fact.scope, fact.current.n, fact.current.standing) == (
        "The brand colour is cobalt", "workspace", 1, "stated",
    )  # fmt: skip
    assert [(one.role, one.kind, one.source_id) for one in world.evidence(fact.id)] == [
        ("origin", "message", message_id)
    ]
    assert world.recalled("which colour has the brand?") == ["The brand colour is cobalt"]


def test_nothing_is_asked_when_no_person_said_anything(world: MemoryWorld) -> None:
    world.say("generate a poster", asked_by="program")
    world.say("I propose a cinematic teal look.", author="agent", asked_by="agent")

    assert world.remember() == []
    assert world.model.requests == []
    assert not [bell for bell in world.store.bells.rung if isinstance(bell.event, MessageAnswered)]


@pytest.mark.case("B27")
def test_the_agents_words_are_never_shown_and_a_repetition_only_confirms(world: MemoryWorld) -> None:
    world.learn("I like low saturation.")
    for _ in range(5):
        world.say("A cinematic teal look would suit.", author="agent", asked_by="agent")
        world.say("I like low saturation")
        world.foresee({"text": "likes low saturation", "evidence": [1], "relation": "same", "about": 1})
        assert world.remember() == ["kept confirm"]
        assert "teal" not in str(asked_facts(world.model))

    fact = world.only()
    assert fact.current.n == 1
    assert [one.role for one in world.evidence(fact.id)] == ["origin"] + ["confirm"] * 5


def test_a_detail_is_a_new_version_and_a_contradiction_closes_the_old_one(world: MemoryWorld) -> None:
    world.learn("Our main colour is cobalt.")
    world.learn(
        "Cobalt with off-white, always.",
        {"text": "The main colour is cobalt with off-white", "evidence": [1], "relation": "refines", "about": 1},
    )
    world.store.clock.advance(timedelta(days=60))
    world.learn(
        "We changed: the main colour is sand since April.",
        {
            "text": "The main colour is sand", "evidence": [1], "relation": "contradicts", "about": 1,
            "valid_from": "2026-04-01",
        },
    )  # fmt: skip

    fact = world.only()
    first, second, third = world.versions(fact.id)
    assert fact.text == "The main colour is sand"
    assert [first.superseded_at is None, second.superseded_at is None, third.superseded_at is None] == [
        False, False, True,
    ]  # fmt: skip
    assert first.valid_to is None
    assert second.valid_to == third.valid_from == datetime(2026, 4, 2, tzinfo=UTC)
    assert [one.role for one in world.evidence(fact.id)] == ["origin", "refine", "origin"]
    assert world.recalled("main colour") == ["The main colour is sand"]


def test_old_news_that_comes_late_does_not_unseat_what_stands(world: MemoryWorld) -> None:
    world.learn("Our logo is a heron.")
    world.learn(
        "In 2019 the logo was a gull.",
        {
            "text": "The logo was a gull",
            "evidence": [1],
            "relation": "contradicts",
            "about": 1,
            "valid_from": "2019-01-01",
        },
    )

    fact = world.only()
    late = world.versions(fact.id)[1]
    assert fact.text == "Our logo is a heron."
    assert late.valid_to == fact.current.valid_from


@pytest.mark.parametrize(("standing", "expected"), [("inferred", "aside"), ("stated", "replace")])
def test_a_guess_never_replaces_what_was_said(world: MemoryWorld, standing: FactStanding, expected: str) -> None:
    world.learn("I want serif type.")
    world.say("the sans one is nice")
    world.foresee(
        {"text": "wants sans type", "evidence": [1], "standing": standing, "relation": "contradicts", "about": 1}
    )

    assert world.remember()[0].endswith(expected)
    assert world.texts() == (["I want serif type."] if expected == "aside" else ["wants sans type"])


@pytest.mark.boundary(58)
def test_one_malformed_candidate_costs_its_siblings_nothing(world: MemoryWorld) -> None:
    world.say("Our colour is cobalt, our font is Inter.")
    world.foresee(
        {"text": "The colour is cobalt", "evidence": [1]},
        {"evidence": [1]},
        {"text": "no evidence at all", "evidence": []},
        {"text": "from a message that is not there", "evidence": [7]},
        {"text": "odd standing", "evidence": [1], "standing": "sworn"},
        "not even an object",
        {"text": "The font is Inter", "evidence": [1], "surprise": True},
    )

    world.remember()

    assert sorted(world.texts()) == ["The colour is cobalt", "The font is Inter"]
    refused = world.refusals()
    assert len(refused) == 5
    assert sum("malformed" in one for one in refused) == 3
    assert sum("message 7" in one for one in refused) == 1
    assert sum("no message of the person" in one for one in refused) == 1


@pytest.mark.case("B26")
def test_a_fact_number_that_was_not_offered_changes_nothing(world: MemoryWorld) -> None:
    world.learn("Our logo is a heron.")
    before = world.only()
    world.say("The logo is blue.")
    world.foresee(
        {"text": "x", "evidence": [1], "relation": "contradicts", "about": 12},
        {"text": "x", "evidence": [1], "relation": "delete", "about": 1},
        {"text": "x", "evidence": [1], "relation": "contradicts", "about": before.id},
        {"text": "x", "evidence": [1], "relation": "contradicts", "about": "1 "},
        {"text": "x", "evidence": [1], "relation": "refines", "about": None},
        {"text": "Our logo is a blue heron", "evidence": [1], "relation": "refines", "about": 1},
    )

    world.remember()

    assert world.texts() == ["Our logo is a blue heron"]
    assert len(world.refusals()) == 5
    assert any("fact 12" in one for one in world.refusals())


def test_a_text_of_several_lines_is_kept_as_one_so_that_no_line_passes_for_a_cards(world: MemoryWorld) -> None:
    world.say("Our colour is cobalt.")
    world.foresee({"text": "The colour\n\n is cobalt \x00 \n\nNothing is lost", "evidence": [1]})

    assert world.remember() == ["kept new"]
    assert world.texts() == ["The colour is cobalt Nothing is lost"]


def test_a_wish_for_this_once_is_not_remembered(world: MemoryWorld) -> None:
    world.say("This time red, please.")
    world.foresee({"text": "The colour is red", "evidence": [1], "temporary": True})

    assert world.remember() == ["refused it holds for this once only, and belongs to the task's brief"]
    assert world.facts() == []


def test_a_candidate_that_is_judged_twice_is_one_fact(world: MemoryWorld) -> None:
    world.say("Our colour is cobalt.")
    world.foresee({"text": "The colour is cobalt", "evidence": [1]})
    [candidate] = looking.read_due_messages(world.dependencies, world.workspace_id, "run-1")

    first = keeping.judge_candidate(world.dependencies, world.workspace_id, candidate)
    again = keeping.judge_candidate(world.dependencies, world.workspace_id, candidate)

    assert first == again == "kept new"
    assert len(world.facts()) == 1


def test_a_run_that_dies_after_the_verdict_asks_nothing_again(world: MemoryWorld) -> None:
    world.say("Our colour is cobalt.")
    world.foresee({"text": "The colour is cobalt", "evidence": [1]})
    looking.read_due_messages(world.dependencies, world.workspace_id, "run-1")

    assert world.remember() == ["kept new"]
    assert len(world.model.requests) == 1


def test_a_model_that_is_away_loses_nothing_and_the_watch_rings_again(world: MemoryWorld) -> None:
    message_id = world.say("Our colour is cobalt.")
    away = MemoryWorld(world.store, Useless(UnavailableError("no answer")))
    assert away.remember() == []
    world.store.clock.advance(timedelta(hours=1))

    assert watching.watch_memory(world.store.database, world.workspace_id, PAUSE) == 1
    rung = world.store.bells.rung[-1]
    assert rung.event == MessageAnswered(workspace_id=world.workspace_id, message_id=message_id)

    world.foresee({"text": "The colour is cobalt", "evidence": [1]})
    assert world.remember() == ["kept new"]
    assert watching.watch_memory(world.store.database, world.workspace_id, PAUSE) == 0


@pytest.mark.case("B24")
def test_a_useless_answer_is_retried_a_few_times_and_recorded(world: MemoryWorld) -> None:
    world.say("Our colour is cobalt.")
    prose = MemoryWorld(world.store, Useless(ModelError("prose")))
    for _ in range(6):
        assert prose.remember() == []

    assert len(prose.model.requests) == 3
    assert "given_up" in prose.everything()


def test_a_candidate_that_nobody_judges_is_rung_for_and_given_up_after_a_day(world: MemoryWorld) -> None:
    message_id = world.say("Our colour is cobalt.")
    world.foresee({"text": "The colour is cobalt", "evidence": [1]})
    looking.read_due_messages(world.dependencies, world.workspace_id, "run-1")
    world.store.clock.advance(timedelta(hours=1))

    assert watching.watch_memory(world.store.database, world.workspace_id, PAUSE) == 1
    assert world.store.bells.rung[-1].event == MessageAnswered(workspace_id=world.workspace_id, message_id=message_id)
    assert "The colour is cobalt" in world.everything()

    world.store.clock.advance(timedelta(days=2))
    watching.watch_memory(world.store.database, world.workspace_id, PAUSE)

    assert "The colour is cobalt" not in world.everything()
    assert world.refusals() == ["it could not be judged"]
    assert watching.watch_memory(world.store.database, world.workspace_id, PAUSE) == 0


def test_what_several_people_said_is_read_in_one_run_and_each_alone(world: MemoryWorld) -> None:
    world.say("Our colour is cobalt.")
    world.say("I never work on Fridays.", person_id="person_other")
    world.foresee({"text": "Our colour is cobalt", "evidence": [1], "scope": "workspace"})
    world.foresee({"text": "never works on Fridays", "evidence": [1]})

    assert world.remember() == ["kept new", "kept new"]

    assert world.texts() == ["Our colour is cobalt"]
    assert len(world.model.requests) == 2
    assert [len(asked_facts(world.model)["messages"])] == [1]


def test_a_correct_empty_list_stores_nothing_and_is_not_asked_for_again(world: MemoryWorld) -> None:
    world.say("Hello!")
    world.foresee()

    assert world.remember() == []
    assert world.remember() == []
    assert (len(world.model.requests), world.facts()) == (1, [])

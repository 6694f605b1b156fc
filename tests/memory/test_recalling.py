"""Recall and correction: only in a scope, only in time, only what the person may see."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest
import sqlalchemy as sa

from core.errors import ConflictError, InvalidError, NotFoundError
from core.search.dependencies import SearchDependencies
from core.search.embedders import HashedPieces
from core.search.index import NoIndex
from core.search.vectors import Vector
from core.tables import workspaces
from memory import correcting, facts, scopes
from memory.card_answers import MEMORY_CARD_ANSWERS
from memory.fact_text import clean_fact_text
from memory.facts import MemoryFact
from memory.recall import Recalled, recall
from runtime.cards import cards
from runtime.cards.answers import CardAnswers, answer_card
from tests.memory.world import MemoryWorld


class Slow(HashedPieces):
    """Takes its time over every text."""

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        time.sleep(5)
        return super().embed(texts)


@pytest.mark.boundary(59)
@pytest.mark.parametrize("within", [(), ("",)])
def test_a_recall_without_a_scope_is_an_error(world: MemoryWorld, within: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="scope"):
        world.recall("colour", within)


@pytest.mark.boundary(59)
def test_what_another_workspace_or_person_remembers_is_never_returned(world: MemoryWorld) -> None:
    world.learn("Our colour is cobalt.")
    other = "ws_other"
    with world.store.database.unscoped() as connection:
        now = world.store.clock.now()
        connection.execute(
            sa.insert(workspaces).values(id=other, name="O", timezone="UTC", change_seq=0, created_at=now)
        )

    elsewhere = recall(
        world.dependencies.search, other, scopes.visible_scopes(world.store.person_id), "our colour is cobalt"
    )
    somebody = world.recall("our colour is cobalt", scopes.visible_scopes("person_other"))

    assert (elsewhere.items, somebody.items) == ((), ())
    with world.store.database.reading(world.workspace_id) as scope, pytest.raises(NotFoundError):
        facts.get_fact(scope, world.only().id, "person_other")


@pytest.mark.boundary(57)
def test_a_recall_that_takes_too_long_is_an_answer_and_no_error(world: MemoryWorld) -> None:
    world.learn("Our colour is cobalt.")
    search = SearchDependencies(world.store.database, Slow(), NoIndex())
    began = time.monotonic()

    found = recall(search, world.workspace_id, scopes.visible_scopes(world.store.person_id), "colour", seconds=0.2)

    assert found == Recalled(degraded=True, timed_out=True)
    assert time.monotonic() - began < 4


def test_a_task_sees_what_holds_for_it_and_no_other_task_does(world: MemoryWorld) -> None:
    world.learn(
        "Gulls in every picture.",
        {"text": "Gulls in every picture", "evidence": [1], "scope": "task"},
        task_id="task_1",
    )
    person = world.store.person_id

    assert [fact.text for fact, _ in world.recall("gulls", scopes.visible_scopes(person, "task_1")).items] == [
        "Gulls in every picture"
    ]
    assert world.recall("gulls", scopes.visible_scopes(person, "task_2")).items == ()


@pytest.mark.case("B31")
def test_what_held_at_a_time_in_the_world(world: MemoryWorld) -> None:
    world.learn("Our colour is cobalt.")
    before = world.store.clock.now()
    world.store.clock.advance(timedelta(days=30))
    world.learn(
        "Now it is sand.", {"text": "Our colour is sand", "evidence": [1], "relation": "contradicts", "about": 1}
    )

    assert _at(world, before) == ["Our colour is cobalt."]
    assert _at(world, world.store.clock.now()) == ["Our colour is sand"]
    assert _at(world, before - timedelta(days=900)) == []


def _at(world: MemoryWorld, at: datetime) -> list[str]:
    with world.store.database.reading(world.workspace_id) as scope:
        return [fact.text for fact in facts.list_facts(scope, scopes.visible_scopes(world.store.person_id), at=at)]


def _correct(world: MemoryWorld, fact: MemoryFact, text: str, cause: str = "cause") -> MemoryFact:
    [vector] = world.dependencies.search.embedder.embed([text])
    with world.store.database.transaction(world.workspace_id) as scope:
        return correcting.correct_fact(scope, fact.id, text, vector, world.store.person_id, cause)


def test_a_correction_is_a_version_with_the_person_as_its_source(world: MemoryWorld) -> None:
    world.learn("Our colour is cobalt.")

    fixed = _correct(world, world.only(), "Our colour is navy")
    again = _correct(world, world.only(), "Our colour is navy")

    assert (fixed.text, fixed.current.n, again.current.n) == ("Our colour is navy", 2, 2)
    assert [(one.role, one.kind) for one in world.evidence(fixed.id)] == [
        ("origin", "message"),
        ("origin", "correction"),
    ]
    assert world.recalled("which colour?") == ["Our colour is navy"]


def test_a_correction_says_no_to_nothing_to_too_much_and_to_what_another_fact_says(world: MemoryWorld) -> None:
    world.learn("Our colour is cobalt.")
    world.learn("Letters are big.")

    with pytest.raises(ConflictError, match="says that already"):
        _correct(world, world.facts()[0], "Letters are BIG")
    for text in ("", " \x00 ", "x" * 501):
        with pytest.raises(InvalidError):
            clean_fact_text(text)


def test_what_was_forgotten_may_be_written_down_again_by_hand(world: MemoryWorld) -> None:
    world.learn("Our colour is cobalt.")
    world.learn("Our colour is sand, elsewhere.")
    world.forget(world.facts()[0].id)

    _correct(world, world.only(), "Our colour is cobalt")
    world.say("cobalt, our colour")
    world.foresee({"text": "our colour is cobalt", "evidence": [1], "relation": "same", "about": 1})

    assert world.remember() == ["kept confirm"]


ANSWERS = CardAnswers(MEMORY_CARD_ANSWERS)


@pytest.mark.parametrize(
    ("option", "expected"), [("corrected", "Our colour is navy"), ("keep", "Our colour is cobalt.")]
)
def test_the_agent_only_proposes_and_the_person_chooses(world: MemoryWorld, option: str, expected: str) -> None:
    world.learn("Our colour is cobalt.")
    card = _proposed(world, "Our colour is navy")
    assert world.texts() == ["Our colour is cobalt."]

    with world.store.database.transaction(world.workspace_id) as scope:
        answer_card(scope, card.id, option, None, world.store.person_id, ANSWERS)

    assert world.texts() == [expected]


def test_a_proposal_about_a_fact_that_moved_changes_nothing(world: MemoryWorld) -> None:
    world.learn("Our colour is cobalt.")
    card = _proposed(world, "Our colour is navy")
    _correct(world, world.only(), "Our colour is sand")

    with (
        pytest.raises(ConflictError, match="changed since"),
        world.store.database.transaction(world.workspace_id) as scope,
    ):
        answer_card(scope, card.id, "corrected", None, world.store.person_id, ANSWERS)
    assert world.texts() == ["Our colour is sand"]


def _proposed(world: MemoryWorld, text: str) -> cards.Card:
    [vector] = world.dependencies.search.embedder.embed([text])
    with world.store.database.transaction(world.workspace_id) as scope:
        return correcting.propose_correction(scope, world.only(), text, vector, cause="cause")

"""Forgetting: asked on a card, at once for whoever recalls, with all that rests on it, and with a receipt."""

from __future__ import annotations

from datetime import timedelta

import pytest

from core.errors import ConflictError, NotFoundError
from core.events import ForgetRequested
from core.search import collections
from memory import cascade, keeping, looking, receipts, watching
from runtime.cards import cards
from runtime.inbox import messages
from tests.memory.world import MemoryWorld

REFINED = {"text": "The colour is cobalt with off-white", "evidence": [1], "relation": "refines", "about": 1}


def test_the_card_says_what_will_be_lost_and_forgets_nothing_by_itself(world: MemoryWorld) -> None:
    world.learn("Our colour is cobalt.")
    world.learn("With off-white, please, always.", REFINED)
    fact = world.only()

    card = world.ask_to_forget(fact.id)

    assert (card.kind, card.state, [option["id"] for option in card.options]) == (
        "irreversible", "open", ["confirm", "keep"],
    )  # fmt: skip
    assert "cobalt with off-white" in card.body
    assert "2 versions" in card.body
    assert "2 messages" in card.body
    assert world.texts() == ["The colour is cobalt with off-white"]
    world.answer(card, "keep")
    assert world.texts() == ["The colour is cobalt with off-white"]
    with pytest.raises(NotFoundError):
        cascade.clear_forgotten(world.dependencies, world.workspace_id, card.id)


def test_a_bell_without_a_confirmed_card_forgets_nothing(world: MemoryWorld) -> None:
    world.learn("Our colour is cobalt.")
    card = world.ask_to_forget(world.only().id)

    for forged in (card.id, "card_made_up"):
        with pytest.raises(NotFoundError):
            cascade.clear_forgotten(world.dependencies, world.workspace_id, forged)
    assert world.texts() == ["Our colour is cobalt."]


def test_from_the_answer_on_nothing_recalls_it_though_no_engine_runs(world: MemoryWorld) -> None:
    world.learn("Our colour is cobalt.")
    card = world.ask_to_forget(world.only().id)

    world.answer(card, "confirm")

    assert world.facts() == []
    assert world.recalled("colour cobalt") == []
    assert [bell.event for bell in world.store.bells.rung if isinstance(bell.event, ForgetRequested)] == [
        ForgetRequested(workspace_id=world.workspace_id, card_id=card.id)
    ]


@pytest.mark.case("B30")
def test_a_forgotten_fact_is_gone_from_every_table_and_the_chat_stays(world: MemoryWorld) -> None:
    message_id = world.learn("Our main colour is cobalt.")
    world.learn("Cobalt with off-white feels soft.", REFINED)
    world.say("the teal is fine too")
    world.foresee({"text": "likes teal over cobalt", "evidence": [1], "standing": "inferred",
                   "relation": "contradicts", "about": 1})  # fmt: skip
    world.remember()
    assert "cobalt" in world.everything()

    receipt = world.forget(world.only().id)

    assert "cobalt" not in world.everything().lower()
    assert receipt.counts["facts"] == 1
    assert receipt.counts["versions"] == 2
    assert receipt.counts["messages"] == 2
    with world.store.database.reading(world.workspace_id) as scope:
        assert messages.get_message(scope, message_id).text == "Our main colour is cobalt."


@pytest.mark.boundary(55)
def test_the_same_text_said_again_is_suppressed_in_its_scope_only(world: MemoryWorld) -> None:
    world.learn("Our colour is cobalt.")
    world.forget(world.only().id)

    world.say("Remember: the colour is cobalt!")
    world.foresee({"text": "our COLOUR is: cobalt", "evidence": [1]})
    assert world.remember() == ["refused it was forgotten on the person's word"]
    assert world.facts() == []

    world.say("For all of us the colour is cobalt.")
    world.foresee({"text": "our colour is cobalt", "evidence": [1], "scope": "workspace"})
    assert world.remember() == ["kept new"]


def test_the_forgotten_messages_are_evidence_for_nothing_again(world: MemoryWorld) -> None:
    world.say("Our colour is cobalt.")
    world.foresee(
        {"text": "Our colour is cobalt", "evidence": [1]}, {"text": "cobalt it is, and never red", "evidence": [1]}
    )
    first, second = looking.read_due_messages(world.dependencies, world.workspace_id, "run-1")
    keeping.judge_candidate(world.dependencies, world.workspace_id, first)

    world.forget(world.only().id)

    assert keeping.judge_candidate(world.dependencies, world.workspace_id, second).startswith("refused")
    assert world.facts() == []


@pytest.mark.boundary(53)
def test_facts_derived_from_the_origin_are_cleared_and_read_again_from_the_rest(
    world: MemoryWorld,
) -> None:
    """The second fact began with a message that the first one also rests on; another message still speaks for it."""
    world.say("Our colour is cobalt, and letters are big.")
    world.foresee({"text": "The colour is cobalt", "evidence": [1]}, {"text": "Letters are big", "evidence": [1]})
    world.remember()
    colour, letters = world.facts()
    rest = world.learn(
        "Big letters, and bold ones.", {"text": "Letters are big and bold", "evidence": [1], "relation": "refines",
                                        "about": _number(world, "Letters are big")},
    )  # fmt: skip

    receipt = world.forget(colour.id)

    assert receipt.counts["read_again"] == 1
    assert world.facts() == []
    assert [one.text for one in world.versions(letters.id)] == [None, None]
    world.foresee({"text": "Letters are big and bold", "evidence": [1]})
    assert world.remember() == ["kept new"]
    rebuilt = world.only()
    assert [one.source_id for one in world.evidence(rebuilt.id)] == [rest]


def test_a_version_that_rests_on_a_forgotten_message_falls_back_to_the_one_before(world: MemoryWorld) -> None:
    first = world.learn("Letters are big.")
    world.say("Our colour is cobalt, and letters are bold too.")
    world.foresee(
        {"text": "The colour is cobalt", "evidence": [1]},
        {"text": "Letters are big and bold", "evidence": [1], "relation": "refines", "about": 1},
    )
    world.remember()
    letters, colour = world.facts()

    receipt = world.forget(colour.id)

    fact = world.only()
    assert (fact.id, fact.text, fact.current.n) == (letters.id, "Letters are big.", 3)
    assert [one.text for one in world.versions(letters.id)] == ["Letters are big.", None, "Letters are big."]
    assert [one.source_id for one in world.evidence(fact.id) if one.n == 3] == [first]
    assert receipt.counts["rebuilt"] == 1
    assert world.recalled("letters") == ["Letters are big."]


@pytest.mark.boundary(56)
def test_a_fact_that_was_only_confirmed_by_the_message_stays(world: MemoryWorld) -> None:
    world.learn("Letters are big.")
    world.say("Our colour is cobalt, and big letters, as I said.")
    world.foresee(
        {"text": "The colour is cobalt", "evidence": [1]},
        {"text": "Letters are big", "evidence": [1], "relation": "same", "about": 1},
    )
    world.remember()
    letters, colour = world.facts()

    world.forget(colour.id)

    assert world.texts() == ["Letters are big."]
    assert [(one.role, one.eligible) for one in world.evidence(letters.id)] == [("origin", True), ("confirm", False)]


def test_forgetting_twice_and_a_run_that_dies_in_between_do_it_once(world: MemoryWorld) -> None:
    world.learn("Our colour is cobalt.")
    card = world.ask_to_forget(world.only().id)
    world.answer(card, "confirm")

    assert cascade.clear_forgotten(world.dependencies, world.workspace_id, card.id) == "cleared"
    before = world.receipt(card.id)
    assert cascade.clear_forgotten(world.dependencies, world.workspace_id, card.id) == "cleared"
    assert world.receipt(card.id) == before
    with pytest.raises(ConflictError):
        world.answer(card, "keep")


def test_a_forget_that_is_not_through_is_rung_for_again(world: MemoryWorld) -> None:
    world.learn("Our colour is cobalt.")
    card = world.ask_to_forget(world.only().id)
    world.answer(card, "confirm")
    world.store.clock.advance(timedelta(minutes=1))

    assert watching.watch_memory(world.store.database, world.workspace_id, timedelta(seconds=10)) == 1
    assert world.store.bells.ids()[-1] == f"{card.id}:ring-1"

    cascade.clear_forgotten(world.dependencies, world.workspace_id, card.id)
    world.store.clock.advance(timedelta(minutes=1))
    assert watching.watch_memory(world.store.database, world.workspace_id, timedelta(seconds=10)) == 1


def test_while_the_index_is_away_the_receipt_does_not_claim_that_it_is_clean(world: MemoryWorld) -> None:
    world.learn("Our colour is cobalt.")
    with world.store.database.transaction(world.workspace_id) as scope:
        collections.ensure_collection(scope, world.dependencies.search.embedder)
    receipt = world.forget(world.only().id)

    assert receipts.check_forgotten(world.dependencies, world.workspace_id, receipt.card_id) == "cleared"
    told = world.receipt(receipt.card_id)
    assert told.done_at is None
    assert told.checked is not None
    assert told.checked["index_away"] is True


def test_where_nothing_was_ever_indexed_nothing_is_left_in_an_index(world: MemoryWorld) -> None:
    world.learn("Our colour is cobalt.")
    receipt = world.forget(world.only().id)

    assert receipts.check_forgotten(world.dependencies, world.workspace_id, receipt.card_id) == "done"
    assert receipts.check_forgotten(world.dependencies, world.workspace_id, receipt.card_id) == "done"


def test_a_fact_that_moved_since_the_question_is_not_forgotten_by_its_answer(world: MemoryWorld) -> None:
    world.learn("Our colour is cobalt.")
    card = world.ask_to_forget(world.only().id)
    world.learn("With off-white, always.", REFINED)

    with pytest.raises(ConflictError, match="changed since"):
        world.answer(card, "confirm")

    assert world.texts() == ["The colour is cobalt with off-white"]
    with world.store.database.reading(world.workspace_id) as scope:
        assert cards.get_card(scope, card.id).state == "open"


def test_several_facts_are_forgotten_on_one_card(world: MemoryWorld) -> None:
    world.learn("Our colour is cobalt.")
    world.learn("Cobalt feels soft.")
    world.learn("Letters are big.")

    receipt = world.forget(*[fact.id for fact in world.facts()[:2]])

    assert receipt.counts["facts"] == 2
    assert world.texts() == ["Letters are big."]


def _number(world: MemoryWorld, text: str) -> int:
    """Under which number the model would be offered a fact: found anew for each question, best first."""
    return 1 + [fact.text for fact, _ in world.recall("Big letters, and bold ones.", limit=5).items].index(text)

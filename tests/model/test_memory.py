"""What the stand-in finds worth remembering, and how it answers from what is remembered."""

from __future__ import annotations

from typing import Any

import pytest

from standins.model.conversation import ModelCall
from standins.model.reply import StandinReply
from standins.model.rules.intent import Intent, intent_of
from standins.model.rules.memory_candidates import memory_candidates
from standins.model.rules.memory_talk import answer_from_memory, is_memory_talk


def _found(*texts: str, known: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    told = {
        "messages": [{"n": n, "text": text} for n, text in enumerate(texts, start=1)],
        "remembered": [{"n": n, "text": text} for n, text in enumerate(known, start=1)],
    }
    found: list[dict[str, Any]] = memory_candidates(told)["candidates"]
    return found


@pytest.mark.parametrize(
    ("text", "statement", "scope"),
    [
        ("Remember that our brand colour is green.", "Our brand colour is green", "workspace"),
        ("Please remember: I never work on Fridays", "I never work on Fridays", "person"),
        ("We always write in British English.", "We always write in British English", "workspace"),
        ("Make three posters. Our brand colour is cobalt!", "Our brand colour is cobalt", "workspace"),
        ("I prefer low saturation", "I prefer low saturation", "person"),
        ("Retiens que notre couleur est le vert.", "Notre couleur est le vert", "workspace"),
        ("Nous écrivons toujours en français.", "Nous écrivons toujours en français", "workspace"),
    ],
)
def test_what_lasts_is_found(text: str, statement: str, scope: str) -> None:
    found = _found(text)

    assert [one["text"] for one in found] == ([statement] if statement else [])
    assert all((one["scope"], one["evidence"], one["relation"]) == (scope, [1], "new") for one in found)


@pytest.mark.parametrize(
    "text",
    [
        "Make me a set of three retro posters for the Harbour Festival, navy and cream.",
        "This time the title is red",
        "Our colour is red for this poster",
        "What is our brand colour?",
        "Make the second one warmer.",
        "I like the second one better",
        "I love it!",
        "Thank you, these are lovely.",
        "",
    ],
)
def test_what_holds_for_the_work_at_hand_is_not(text: str) -> None:
    assert _found(text) == []


@pytest.mark.parametrize(
    ("text", "relation", "about"),
    [
        ("Our brand colour is green", "same", 2),
        ("Remember that our brand colour is sand", "contradicts", 2),
        ("Remember that our brand colour is green with off-white", "refines", 2),
        ("Our slogan is Fish fresh", "new", None),
    ],
)
def test_it_says_how_a_statement_stands_to_what_is_remembered(text: str, relation: str, about: int | None) -> None:
    [found] = _found(text, known=("I never work on Fridays", "Our brand colour is green"))

    assert (found["relation"], found["about"]) == (relation, about)


@pytest.mark.parametrize(
    ("text", "talks"),
    [
        ("Remember that our logo is a heron.", True),
        ("Keep in mind that I never work on Fridays", True),
        ("Forget the cobalt", True),
        ("Oublie notre couleur", True),
        ("Forget it", False),
        ("Remember the posters? Make them bluer.", False),
        ("Remember that we need a poster: make one.", False),
        ("Make a poster that says: never forget", False),
    ],
)
def test_what_only_speaks_of_the_memory_is_no_order(text: str, talks: bool) -> None:
    assert is_memory_talk(text) is talks
    assert (intent_of(text, first=True) is Intent.ASK) is talks


def _call(name: str, result: Any) -> ModelCall:
    return ModelCall(name, {}, result)


COLOUR = {"facts": [{"id": "fact_1", "text": "Our colour is cobalt"}, {"id": "fact_2", "text": "We use Inter"}]}
TOOLS = {"recall", "propose_forget"}


def _answer(text: str, *made: ModelCall) -> StandinReply:
    said = answer_from_memory(text, made, "en", TOOLS)
    assert said is not None
    return said


def test_a_question_is_answered_from_what_recall_brings() -> None:
    text = "What is our colour?"

    assert [call.name for call in _answer(text).calls] == ["recall"]
    assert "cobalt" in _answer(text, _call("recall", COLOUR)).text
    assert "do not know" in _answer(text, _call("recall", {"facts": []})).text
    assert answer_from_memory("How are you?", [], "en", TOOLS) is None
    assert answer_from_memory(text, [], "en", set()) is None


def test_what_is_to_be_forgotten_is_looked_for_and_proposed_once() -> None:
    text, looked = "Forget the cobalt", _call("recall", COLOUR)

    [proposed] = _answer(text, looked).calls
    assert (proposed.name, proposed.arguments) == ("propose_forget", {"fact_ids": ["fact_1"]})
    assert not _answer(text, looked, _call("propose_forget", {"card_id": "c"})).calls
    assert "nothing" in _answer("Forget the zebra", looked).text


def test_each_statement_names_the_message_it_is_in() -> None:
    found = _found("hello", "We always use Inter. Our logo is a heron.")

    assert [one["evidence"] for one in found] == [[2], [2]]

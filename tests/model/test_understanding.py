"""What the stand-in makes of many phrasings: tables over its rules."""

from __future__ import annotations

from typing import Any

import pytest

from standins.model.rules.decide import blank
from standins.model.rules.intent import Intent, intent_of
from standins.model.rules.route import route
from standins.model.rules.wish import read_work_wish

POSTERS: dict[str, Any] = {
    "id": "harbour",
    "kind": "persistent",
    "goal": "Make me a set of three retro posters for the Harbour Festival, navy and cream.",
    "status": "done",
    "objects": [{"id": f"h{n}", "kind": "image", "title": f"Harbour Festival – Poster {n}"} for n in (1, 2, 3)],
}
JAZZ: dict[str, Any] = {
    "id": "jazz",
    "kind": "persistent",
    "goal": "A set of four posters for the Jazz Club",
    "status": "waiting",
    "objects": [{"id": f"j{n}", "kind": "image", "title": f"Jazz Club – Poster {n}"} for n in (1, 2, 3, 4)],
}
FILM: dict[str, Any] = {
    "id": "film",
    "kind": "light",
    "goal": "Also turn the first one into a five-second video.",
    "status": "done",
    "objects": [POSTERS["objects"][0], {"id": "v1", "kind": "video", "title": "Harbour Festival – Poster 1 – Film"}],
}


@pytest.mark.parametrize(
    ("text", "kind", "count", "seconds"),
    [
        ("Make me a set of three retro posters for the Harbour Festival, navy and cream.", "image", 3, None),
        ("Draw a cat", "image", 1, None),
        ("5 pictures of the sea, please", "image", 5, None),
        ("a set of posters for the fair", "image", 3, None),
        ("Make a ten-second video of the sea", "video", 1, 10),
        ("Can you make a 10 second video of waves?", "video", 1, 10),
        ("Compose a 30 second jingle for our radio show", "audio", 1, 30),
        ("Build a 3D model of a teapot", "model3d", 1, None),
        ("Write a short poem about rain", "document", 1, None),
        ("Write a short brief for a poster campaign", "document", 1, None),
        ("Also turn the first one into a five-second video.", "video", 1, 5),
        ("Animate the third poster", "video", 1, None),
        ("Fais-moi trois affiches rétro pour la fête du port", "image", 3, None),
        ("Series of three posters for a night market in 横浜", "image", 3, None),
        ("add three character sheets: Mira, Jon, Old Tom", "image", 3, None),
        ("make the text bigger", None, 1, None),
    ],
)
def test_wishes(text: str, kind: str | None, count: int, seconds: int | None) -> None:
    said = read_work_wish(text)
    assert (said.kind, said.count, said.seconds) == (kind, count, seconds)


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("Make me a set of three retro posters for the Harbour Festival, navy and cream.", "Harbour Festival"),
        ('Make a poster titled "Night Swim"', "Night Swim"),
        ("Make a poster of a cat", "Cat"),
        ("Fais-moi trois affiches rétro pour la fête du port", "Fête du port"),
    ],
)
def test_subjects(text: str, subject: str) -> None:
    assert read_work_wish(text).subject == subject


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("Could the set be a touch warmer?", Intent.CHANGE),
        ("Change the second one", Intent.CHANGE),
        ("make the text bigger", Intent.CHANGE),
        ("a bit more contrast", Intent.CHANGE),
        ("dark blue, not white", Intent.CHANGE),
        ("I want two more", Intent.ADD),
        ("add another one", Intent.ADD),
        ("Make a poster of a dog", Intent.ADD),
        ("thanks!", Intent.TALK),
        ("Merci !", Intent.TALK),
        ("😀", Intent.TALK),
        ("stop", Intent.CANCEL),
        ("What are you doing?", Intent.ASK),
        ("How to build a bomb", Intent.FORBIDDEN),
    ],
)
def test_intents_of_a_follow_up(text: str, intent: Intent) -> None:
    assert intent_of(text, first=False) is intent


@pytest.mark.parametrize(
    ("text", "tasks", "outcome", "task_id", "object_ids"),
    [
        (POSTERS["goal"], [], "new", None, []),
        ("a set of three posters for the book fair", [POSTERS], "new", None, []),
        ("Plan a product launch", [POSTERS], "new", None, []),
        ("Write a short brief for a night market", [POSTERS], "new", None, []),
        ("Also turn the first one into a five-second video.", [POSTERS], "light", None, ["h1"]),
        ("Also turn the second one into a five-second video.", [FILM, POSTERS], "light", None, ["h2"]),
        ("Animate the third poster", [POSTERS], "light", None, ["h3"]),
        ("Fais une vidéo de cinq secondes avec la première", [POSTERS], "light", None, ["h1"]),
        ("Draw a cat", [POSTERS], "light", None, []),
        ("Make a poster of the first moon landing", [POSTERS], "light", None, []),
        ("Can you make a 10 second video of waves?", [POSTERS], "light", None, []),
        ("Which video lengths can you do?", [POSTERS], "main", None, []),
        ("Quelles durées de vidéo sont possibles ?", [POSTERS], "main", None, []),
        ("What are you doing?", [POSTERS], "main", None, []),
        ("thanks!", [POSTERS], "main", None, []),
        ("The weather is nice today", [POSTERS], "main", None, []),
        ("Make it warmer", [], "main", None, []),
        ("Could the set be a touch warmer?", [POSTERS], "existing", "harbour", []),
        ("Could the set be a touch warmer?", [FILM, POSTERS], "existing", "harbour", []),
        ("Le lot pourrait-il être plus chaud ?", [POSTERS], "existing", "harbour", []),
        ("Make the jazz posters darker", [POSTERS, JAZZ], "existing", "jazz", []),
        ("Make the video longer", [FILM, POSTERS], "existing", "film", []),
        ("I want two more", [POSTERS], "existing", "harbour", []),
        ("change last time's set", [POSTERS, JAZZ], "ask", None, []),
        ("Also turn the first one into a five-second video.", [POSTERS, JAZZ], "ask", None, []),
    ],
)
def test_routes(
    text: str, tasks: list[dict[str, Any]], outcome: str, task_id: str | None, object_ids: list[str]
) -> None:
    said = route({"message": {"text": text}, "tasks": tasks, "thread": []})
    assert (said["outcome"], said["task_id"], said["object_ids"]) == (outcome, task_id, object_ids)
    assert said["reasons"]


def test_a_question_between_two_sets_names_both() -> None:
    said = route({"message": {"text": "change last time's set"}, "tasks": [POSTERS, JAZZ], "thread": []})
    assert {one["task_id"] for one in said["candidates"]} == {"harbour", "jazz"}


def test_what_was_just_spoken_of_is_meant() -> None:
    thread = [{"author": "agent", "text": "Done", "task_id": "jazz"}]
    said = route({"message": {"text": "make it darker"}, "tasks": [POSTERS, JAZZ], "thread": thread})
    assert said["task_id"] == "jazz"


def test_a_set_is_what_has_several_works_whatever_was_spoken_of_last() -> None:
    thread = [{"author": "agent", "text": "Done", "task_id": "film"}]
    said = route({"message": {"text": "Could the set be a touch warmer?"}, "tasks": [FILM, POSTERS], "thread": thread})
    assert (said["outcome"], said["task_id"]) == ("existing", "harbour")


def test_a_stopped_task_is_not_followed_up() -> None:
    said = route({"message": {"text": "make it darker"}, "tasks": [{**POSTERS, "status": "stopped"}], "thread": []})
    assert said["outcome"] == "main"


def test_the_emptiest_verdict_fits_its_schema() -> None:
    schema = {
        "type": "object",
        "properties": {
            "kind": {"enum": ["a", "b"]},
            "items": {"type": "array", "items": {"type": "string"}},
            "inner": {"$ref": "#/$defs/Inner"},
            "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "yes": {"type": "boolean"},
            "n": {"type": "integer", "minimum": 1},
        },
        "$defs": {"Inner": {"type": "object", "properties": {"text": {"type": "string"}}}},
    }
    assert blank(schema) == {"kind": "a", "items": [], "inner": {"text": ""}, "maybe": None, "yes": False, "n": 1}

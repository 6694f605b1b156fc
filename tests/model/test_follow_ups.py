"""What comes after the first works: changes, additions, talk."""

from __future__ import annotations

import pytest

from core.llm.openai_model import OpenAIModel
from tests.model.standin import Worker, call_names, parse_arguments
from tests.model.story_steps import POSTERS, finished_worker, play_answer, play_end, play_orders, play_plan


def test_a_change_makes_new_versions_of_the_whole_set(model: OpenAIModel) -> None:
    worker = Worker(model, goal=POSTERS)
    worker.hear(POSTERS)
    play_plan(worker)
    play_orders(worker)
    worker.settle()
    play_end(worker)
    # when the person asks for a warmer set
    worker.hear("Could the set be a touch warmer?")
    decision = worker.decide()
    # then each poster is made again as a version of itself
    assert call_names(decision) == ["generate_image"] * 3
    changed = [parse_arguments(call.arguments)["object_id"] for call in decision.calls]
    assert changed == [one["id"] for one in worker.objects]
    assert all("warmer" in parse_arguments(call.arguments)["prompt"] for call in decision.calls)
    worker.place(decision)
    assert worker.decide().calls == ()
    worker.settle()
    assert call_names(worker.decide()) in (["finish"], [])
    assert len(worker.orders) == 6


def test_of_a_whole_script_a_picture_is_made_from_the_beginning(model: OpenAIModel) -> None:
    script = "Make them warmer. " + "INT. HARBOUR - NIGHT. Mira walks. " * 1_500
    worker = finished_worker(model)

    worker.hear(script)
    decision = worker.decide()

    assert call_names(decision) == ["generate_image"] * 3
    assert all(len(parse_arguments(call.arguments)["prompt"]) < 5_000 for call in decision.calls)


def test_one_of_the_set_is_changed(model: OpenAIModel) -> None:
    worker = Worker(model, goal=POSTERS)
    worker.hear(POSTERS)
    play_plan(worker)
    play_orders(worker)
    worker.settle()
    play_end(worker)
    worker.hear("Change the second one: bluer, and make the text bigger.")
    decision = worker.decide()
    assert [parse_arguments(call.arguments)["object_id"] for call in decision.calls] == ["obj_2"]


@pytest.mark.parametrize(
    ("text", "tool", "object_ids", "titles"),
    [
        ("warmer please", "generate_image", ["obj_1", "obj_2", "obj_3"], None),
        ("make the text bigger", "generate_image", ["obj_1", "obj_2", "obj_3"], None),
        ("make the first and the last one darker", "generate_image", ["obj_1", "obj_3"], None),
        ("Poster 2 needs more contrast", "generate_image", ["obj_2"], None),
        ("Make a square version of each", "generate_image", ["obj_1", "obj_2", "obj_3"], None),
        ("I want two more", "generate_image", [None, None], ["Poster 4", "Poster 5"]),
        ("add another one with a lighthouse", "generate_image", [None], ["Poster 4"]),
        ("Also make a ten second video of the first one", "generate_video", [None], ["Film"]),
        ("Write a short press text for it", "write_document", [None], ["Harbour Festival"]),
    ],
)
def test_follow_ups(
    model: OpenAIModel, text: str, tool: str, object_ids: list[str | None], titles: list[str] | None
) -> None:
    worker = finished_worker(model)
    worker.hear(text)
    decision = worker.decide()
    assert set(call_names(decision)) == {tool}
    made = [parse_arguments(call.arguments) for call in decision.calls]
    assert [one.get("object_id") for one in made] == object_ids
    assert all(part in one["title"] for part, one in zip(titles or [], made, strict=titles is not None))


@pytest.mark.parametrize(("text", "answer"), [("thanks, lovely", "welcome"), ("stop", "nothing was ordered")])
def test_talk_after_the_work_is_answered_in_words(model: OpenAIModel, text: str, answer: str) -> None:
    worker = finished_worker(model)
    worker.hear(text)
    decision = worker.decide()
    assert decision.calls == ()
    assert answer in decision.text


def test_a_message_during_the_work_is_noted_and_applied_afterwards(model: OpenAIModel) -> None:
    worker = Worker(model, goal=POSTERS)
    worker.hear(POSTERS)
    play_plan(worker)
    play_orders(worker)
    worker.hear("Dark blue, not white")
    noted = worker.decide()
    assert noted.calls == ()
    assert "Noted" in noted.text
    worker.settle()
    assert call_names(worker.decide()) == ["generate_image"] * 3


def test_a_picture_without_a_word_starts_nothing(model: OpenAIModel) -> None:
    worker = Worker(model, goal=POSTERS)
    worker.hear(POSTERS)
    play_plan(worker)
    play_orders(worker)
    worker.settle()
    play_end(worker)
    worker.hear("", attachments=["obj_77"])
    assert worker.decide().calls == ()


def test_change_something_is_asked_back_and_its_words_are_done(model: OpenAIModel) -> None:
    worker = Worker(model, goal="Draw a cat", kind="light")
    worker.hear("Draw a cat")
    worker.place(worker.decide())
    worker.decide()
    worker.settle()
    worker.inputs = []
    play_answer(worker, "result", "change")
    asked = worker.decide()
    assert asked.calls == ()
    assert "what to change" in asked.text
    play_answer(worker, "result", "change", "make it blue")
    decision = worker.decide()
    assert [parse_arguments(call.arguments)["object_id"] for call in decision.calls] == ["obj_1"]


def test_a_history_without_its_beginning_repeats_nothing(model: OpenAIModel) -> None:
    worker = Worker(model, goal=POSTERS, brief="Three posters")
    worker.objects = [{"id": "obj_1", "kind": "image", "title": "Harbour 1", "version": 3, "changed": False}]
    worker.orders = [{"id": "o1", "kind": "image", "title": "Harbour 1", "state": "succeeded", "object_ids": ["obj_1"]}]
    worker.history = [{"role": "user", "content": "[7 earlier steps are left out here]"}]
    worker.hear("make it a little darker")
    decision = worker.decide()
    assert [parse_arguments(call.arguments).get("object_id") for call in decision.calls] == ["obj_1"]

"""The main story, played by the stand-in over real HTTP through the adapter."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.model_openai import OpenAIModel
from tests.model.standin import Worker, client, names, running, told

POSTERS = "Make me a set of three retro posters for the Harbour Festival, navy and cream."


@pytest.fixture
def model(tmp_path: Path) -> Iterator[OpenAIModel]:
    with running(tmp_path) as url:
        yield client(url)


def planned(worker: Worker) -> None:
    """Play the first step: brief and checklist are stored."""
    decision = worker.decide()
    assert names(decision) == ["set_brief", "create_checklist"]
    worker.brief = told(decision.calls[0].arguments)["brief"]
    steps = told(decision.calls[1].arguments)["steps"]
    worker.checklist = [
        {
            "n": n,
            "title": step["title"],
            "acceptance": step["acceptance"],
            "status": "todo",
            "stale": False,
            "evidence": [],
        }
        for n, step in enumerate(steps, start=1)
    ]
    worker.result(decision, {"ok": True}, {"ok": True})


def ordered(worker: Worker) -> list[str]:
    """Play the second step and the words after it; answers the titles."""
    decision = worker.decide()
    worker.place(decision)
    under_way = worker.decide()
    assert under_way.calls == ()
    assert under_way.text
    return [told(call.arguments)["title"] for call in decision.calls]


def closed(worker: Worker) -> str:
    """Play the steps after the outcomes up to the report."""
    marks = worker.decide()
    assert names(marks) == ["update_checklist"]
    changes = told(marks.calls[0].arguments)["changes"]
    assert {change["n"] for change in changes} == {item["n"] for item in worker.checklist}
    assert all(change["status"] == "done" and change["evidence"] for change in changes)
    for item in worker.checklist:
        item["status"] = "done"
    worker.result(marks, {"ok": True})
    end = worker.decide()
    assert names(end) == ["finish"]
    worker.result(end, {"ok": True})
    return worker.decide().text


def test_three_posters_are_planned_ordered_once_and_reported(model: OpenAIModel) -> None:
    # given a task with one wish
    worker = Worker(model, goal=POSTERS)
    worker.hear(POSTERS)
    planned(worker)
    # when it goes on
    titles = ordered(worker)
    # then there are three different works, and nothing is ordered while they are made
    assert len(set(titles)) == 3
    assert all("Harbour Festival" in title for title in titles)
    worker.settle()
    assert all(title in closed(worker) for title in titles[:1])
    assert len(worker.orders) == 3


def test_a_change_makes_new_versions_of_the_whole_set(model: OpenAIModel) -> None:
    worker = Worker(model, goal=POSTERS)
    worker.hear(POSTERS)
    planned(worker)
    ordered(worker)
    worker.settle()
    closed(worker)
    # when the person asks for a warmer set
    worker.hear("Could the set be a touch warmer?")
    decision = worker.decide()
    # then each poster is made again as a version of itself
    assert names(decision) == ["generate_image"] * 3
    changed = [told(call.arguments)["object_id"] for call in decision.calls]
    assert changed == [one["id"] for one in worker.objects]
    assert all("warmer" in told(call.arguments)["prompt"] for call in decision.calls)
    worker.place(decision)
    assert worker.decide().calls == ()
    worker.settle()
    assert names(worker.decide()) in (["finish"], [])
    assert len(worker.orders) == 6


def test_one_of_the_set_is_changed(model: OpenAIModel) -> None:
    worker = Worker(model, goal=POSTERS)
    worker.hear(POSTERS)
    planned(worker)
    ordered(worker)
    worker.settle()
    closed(worker)
    worker.hear("Change the second one: bluer, and make the text bigger.")
    decision = worker.decide()
    assert [told(call.arguments)["object_id"] for call in decision.calls] == ["obj_2"]


def finished(model: OpenAIModel) -> Worker:
    """The three posters are there and the task has ended."""
    worker = Worker(model, goal=POSTERS)
    worker.hear(POSTERS)
    planned(worker)
    ordered(worker)
    worker.settle()
    closed(worker)
    return worker


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
    worker = finished(model)
    worker.hear(text)
    decision = worker.decide()
    assert set(names(decision)) == {tool}
    made = [told(call.arguments) for call in decision.calls]
    assert [one.get("object_id") for one in made] == object_ids
    assert all(part in one["title"] for part, one in zip(titles or [], made, strict=titles is not None))


@pytest.mark.parametrize(("text", "answer"), [("thanks, lovely", "welcome"), ("stop", "nothing was ordered")])
def test_talk_after_the_work_is_answered_in_words(model: OpenAIModel, text: str, answer: str) -> None:
    worker = finished(model)
    worker.hear(text)
    decision = worker.decide()
    assert decision.calls == ()
    assert answer in decision.text


def test_a_light_task_turns_the_picture_into_a_film(model: OpenAIModel) -> None:
    text = "Also turn the first one into a five-second video."
    worker = Worker(model, goal=text, kind="light")
    worker.objects = [{"id": "obj_9", "kind": "image", "title": "Harbour 1", "version": 1, "changed": False}]
    worker.hear(text)
    decision = worker.decide()
    assert names(decision) == ["generate_video"]
    arguments = told(decision.calls[0].arguments)
    assert arguments["seconds"] == 5
    assert arguments["references"] == ["obj_9"]


def test_a_message_during_the_work_is_noted_and_applied_afterwards(model: OpenAIModel) -> None:
    worker = Worker(model, goal=POSTERS)
    worker.hear(POSTERS)
    planned(worker)
    ordered(worker)
    worker.hear("Dark blue, not white")
    noted = worker.decide()
    assert noted.calls == ()
    assert "Noted" in noted.text
    worker.settle()
    assert names(worker.decide()) == ["generate_image"] * 3


def test_messages_in_a_row_are_one_wish(model: OpenAIModel) -> None:
    worker = Worker(model, goal="add three character sheets: Mira, Jon, Old Tom")
    for text in ("add three character sheets: Mira, Jon, Old Tom", "they live in Porto", "sorry, Lisbon"):
        worker.hear(text)
    planned(worker)
    decision = worker.decide()
    assert [told(call.arguments)["title"] for call in decision.calls] == ["Mira", "Jon", "Old Tom"]
    assert all("Lisbon" in told(call.arguments)["prompt"] for call in decision.calls)


def test_a_failed_order_is_tried_once_more_and_then_told(model: OpenAIModel) -> None:
    worker = Worker(model, goal=POSTERS)
    worker.hear(POSTERS)
    planned(worker)
    titles = ordered(worker)
    worker.settle(failing=[titles[1]])
    again = worker.decide()
    assert [told(call.arguments)["title"] for call in again.calls] == [titles[1]]
    worker.place(again)
    assert worker.decide().calls == ()
    worker.settle(failing=[titles[1]])
    marks = worker.decide()
    assert names(marks) == ["update_checklist"]
    worker.result(marks, {"ok": True})
    told_so = worker.decide()
    assert told_so.calls == ()
    assert titles[1] in told_so.text


def test_a_picture_without_a_word_starts_nothing(model: OpenAIModel) -> None:
    worker = Worker(model, goal=POSTERS)
    worker.hear(POSTERS)
    planned(worker)
    ordered(worker)
    worker.settle()
    closed(worker)
    worker.hear("", attachments=["obj_77"])
    assert worker.decide().calls == ()


def test_a_document_is_written_and_reported(model: OpenAIModel) -> None:
    text = "Write a short brief for a night market"
    worker = Worker(model, goal=text)
    worker.hear(text)
    planned(worker)
    decision = worker.decide()
    assert names(decision) == ["write_document"]
    assert "night market" in told(decision.calls[0].arguments)["content"].lower()
    title = told(decision.calls[0].arguments)["title"]
    worker.objects.append({"id": "obj_1", "kind": "document", "title": title, "version": 1, "changed": False})
    worker.result(decision, {"object_id": "obj_1", "version": 1})
    assert closed(worker)


def test_a_quote_is_waited_for_and_a_refusal_ends_it(model: OpenAIModel) -> None:
    text = "Make me a ten-second video of the sea"
    worker = Worker(model, goal=text, kind="light")
    worker.hear(text)
    decision = worker.decide()
    assert told(decision.calls[0].arguments)["seconds"] == 10
    worker.result(decision, {"card_id": "card_1", "state": "waiting_for_approval"})
    worker.open_cards = [{"id": "card_1", "kind": "quote", "title": "A film"}]
    assert worker.decide().calls == ()
    # "ok" in words is no consent
    worker.hear("ok")
    assert worker.decide().calls == ()
    worker.open_cards = []
    worker.inputs.append(
        {"kind": "answer", "card_id": "card_1", "card_kind": "quote", "option": "refuse", "text": None}
    )
    assert worker.decide().calls == ()


def answered(worker: Worker, kind: str, option: str, text: str = "") -> None:
    worker.inputs.append({"kind": "answer", "card_id": "card_1", "card_kind": kind, "option": option, "text": text})


def test_a_refusal_with_words_orders_nothing(model: OpenAIModel) -> None:
    text = "Make me a ten-second video of the sea"
    worker = Worker(model, goal=text, kind="light")
    worker.hear(text)
    worker.result(worker.decide(), {"card_id": "card_1", "state": "waiting_for_approval"})
    worker.decide()
    answered(worker, "quote", "refuse", "too expensive, make it cheaper some day")
    assert worker.decide().calls == ()


def test_change_something_is_asked_back_and_its_words_are_done(model: OpenAIModel) -> None:
    worker = Worker(model, goal="Draw a cat", kind="light")
    worker.hear("Draw a cat")
    worker.place(worker.decide())
    worker.decide()
    worker.settle()
    worker.inputs = []
    answered(worker, "result", "change")
    asked = worker.decide()
    assert asked.calls == ()
    assert "what to change" in asked.text
    answered(worker, "result", "change", "make it blue")
    decision = worker.decide()
    assert [told(call.arguments)["object_id"] for call in decision.calls] == ["obj_1"]


def test_a_history_without_its_beginning_repeats_nothing(model: OpenAIModel) -> None:
    worker = Worker(model, goal=POSTERS, brief="Three posters")
    worker.objects = [{"id": "obj_1", "kind": "image", "title": "Harbour 1", "version": 3, "changed": False}]
    worker.orders = [{"id": "o1", "kind": "image", "title": "Harbour 1", "state": "succeeded", "object_ids": ["obj_1"]}]
    worker.history = [{"role": "user", "content": "[7 earlier steps are left out here]"}]
    worker.hear("make it a little darker")
    decision = worker.decide()
    assert [told(call.arguments).get("object_id") for call in decision.calls] == ["obj_1"]


def test_a_french_wish_is_answered_in_french(model: OpenAIModel) -> None:
    text = "Fais-moi trois affiches rétro pour la fête du port, bleu marine et crème."
    worker = Worker(model, goal=text, language="fr")
    worker.hear(text)
    planned(worker)
    assert "Demande" in worker.brief
    decision = worker.decide()
    assert names(decision) == ["generate_image"] * 3
    worker.place(decision)
    assert "en cours" in worker.decide().text


def test_a_tool_that_is_not_offered_is_said_to_be_absent(model: OpenAIModel) -> None:
    worker = Worker(model, goal="Make a poster of a cat", kind="light", tools=("set_brief", "finish"))
    worker.hear("Make a poster of a cat")
    decision = worker.decide()
    assert decision.calls == ()
    assert "generate_image" in decision.text


def test_main_answers_after_a_look(model: OpenAIModel) -> None:
    main = Worker(model, thread="main", tools=("list_models", "list_tasks"))
    main.hear("Which video lengths can you do?")
    look = main.decide()
    assert names(look) == ["list_models"]
    assert told(look.calls[0].arguments) == {"kind": "video"}
    main.result(look, {"models": [{"model": "studio-film-1", "kind": "video", "seconds": [3, 5, 8, 10]}]})
    answer = main.decide()
    assert answer.calls == ()
    assert "3, 5, 8, 10" in answer.text

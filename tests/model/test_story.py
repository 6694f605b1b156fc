"""The main story, played by the stand-in over real HTTP through the adapter."""

from __future__ import annotations

from core.llm.openai_model import OpenAIModel
from tests.model.standin import Worker, call_names, parse_arguments
from tests.model.story_steps import POSTERS, play_answer, play_end, play_orders, play_plan


def test_three_posters_are_planned_ordered_once_and_reported(model: OpenAIModel) -> None:
    # given a task with one wish
    worker = Worker(model, goal=POSTERS)
    worker.hear(POSTERS)
    play_plan(worker)
    # when it goes on
    titles = play_orders(worker)
    # then there are three different works, and nothing is ordered while they are made
    assert len(set(titles)) == 3
    assert all("Harbour Festival" in title for title in titles)
    worker.settle()
    assert all(title in play_end(worker) for title in titles[:1])
    assert len(worker.orders) == 3


def test_a_light_task_turns_the_picture_into_a_film(model: OpenAIModel) -> None:
    text = "Also turn the first one into a five-second video."
    worker = Worker(model, goal=text, kind="light")
    worker.objects = [{"id": "obj_9", "kind": "image", "title": "Harbour 1", "version": 1, "changed": False}]
    worker.hear(text)
    decision = worker.decide()
    assert call_names(decision) == ["generate_video"]
    arguments = parse_arguments(decision.calls[0].arguments)
    assert arguments["seconds"] == 5
    assert arguments["references"] == ["obj_9"]

    # It is done with its work, so that nobody comes back to report
    worker.place(decision)
    said = worker.decide()
    assert said.calls == ()
    assert "on the way" in said.text
    assert "report" not in said.text


def test_messages_in_a_row_are_one_wish(model: OpenAIModel) -> None:
    worker = Worker(model, goal="add three character sheets: Mira, Jon, Old Tom")
    for text in ("add three character sheets: Mira, Jon, Old Tom", "they live in Porto", "sorry, Lisbon"):
        worker.hear(text)
    play_plan(worker)
    decision = worker.decide()
    assert [parse_arguments(call.arguments)["title"] for call in decision.calls] == ["Mira", "Jon", "Old Tom"]
    assert all("Lisbon" in parse_arguments(call.arguments)["prompt"] for call in decision.calls)


def test_a_failed_order_is_tried_once_more_and_then_told(model: OpenAIModel) -> None:
    worker = Worker(model, goal=POSTERS)
    worker.hear(POSTERS)
    play_plan(worker)
    titles = play_orders(worker)
    worker.settle(failing=[titles[1]])
    again = worker.decide()
    assert [parse_arguments(call.arguments)["title"] for call in again.calls] == [titles[1]]
    worker.place(again)
    assert worker.decide().calls == ()
    worker.settle(failing=[titles[1]])
    marks = worker.decide()
    assert call_names(marks) == ["update_checklist"]
    worker.result(marks, {"ok": True})
    told_so = worker.decide()
    assert told_so.calls == ()
    assert titles[1] in told_so.text


def test_a_document_is_written_and_reported(model: OpenAIModel) -> None:
    text = "Write a short brief for a night market"
    worker = Worker(model, goal=text)
    worker.hear(text)
    play_plan(worker)
    decision = worker.decide()
    assert call_names(decision) == ["write_document"]
    assert "night market" in parse_arguments(decision.calls[0].arguments)["content"].lower()
    title = parse_arguments(decision.calls[0].arguments)["title"]
    worker.objects.append({"id": "obj_1", "kind": "document", "title": title, "version": 1, "changed": False})
    worker.result(decision, {"object_id": "obj_1", "version": 1})
    assert play_end(worker)


def test_a_quote_is_waited_for_and_a_refusal_ends_it(model: OpenAIModel) -> None:
    text = "Make me a ten-second video of the sea"
    worker = Worker(model, goal=text, kind="light")
    worker.hear(text)
    decision = worker.decide()
    assert parse_arguments(decision.calls[0].arguments)["seconds"] == 10
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


def test_a_refusal_with_words_orders_nothing(model: OpenAIModel) -> None:
    text = "Make me a ten-second video of the sea"
    worker = Worker(model, goal=text, kind="light")
    worker.hear(text)
    worker.result(worker.decide(), {"card_id": "card_1", "state": "waiting_for_approval"})
    worker.decide()
    play_answer(worker, "quote", "refuse", "too expensive, make it cheaper some day")
    assert worker.decide().calls == ()


def test_a_french_wish_is_answered_in_french(model: OpenAIModel) -> None:
    text = "Fais-moi trois affiches rétro pour la fête du port, bleu marine et crème."
    worker = Worker(model, goal=text, language="fr")
    worker.hear(text)
    play_plan(worker)
    assert "Demande" in worker.brief
    decision = worker.decide()
    assert call_names(decision) == ["generate_image"] * 3
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
    assert call_names(look) == ["list_models"]
    assert parse_arguments(look.calls[0].arguments) == {"kind": "video"}
    main.result(look, {"models": [{"model": "studio-film-1", "kind": "video", "seconds": [3, 5, 8, 10]}]})
    answer = main.decide()
    assert answer.calls == ()
    assert "3, 5, 8, 10" in answer.text

"""The main job end to end: one message becomes pictures, a film, answers and new versions, on real processes."""

from __future__ import annotations

import io
import json
from typing import Any

import av
import pytest

from tests.support import story
from tests.support.product import Product
from tests.support.story import Posters


@pytest.fixture(scope="module")
def posters(product: Product) -> Posters:
    return story.order_posters(product)


def test_one_message_becomes_three_different_posters_and_a_report(product: Product, posters: Posters) -> None:
    task = product.get(f"/api/v1/tasks/{posters.task_id}")

    assert (task["kind"], task["status"]) == ("persistent", "done")
    assert "Harbour Festival" in task["brief"]
    assert len(posters.images) == 3
    looks = {story.content(product, one["id"]) for one in posters.images}
    assert len(looks) == 3
    for one in posters.images:
        picture = story.picture(product, one["id"])
        assert picture.format == "PNG"
        assert min(picture.size) >= 1024
    assert all(step["status"] == "done" and step["evidence"] for step in task["checklist"])
    made = {item["id"] for step in task["checklist"] for item in step["evidence"] if item["kind"] == "object"}
    assert made == {one["id"] for one in posters.images}
    message = product.get(f"/api/v1/messages/{posters.message_id}")
    assert message["state"] == "answered"
    assert message["route"]["outcome"] == "new"


def test_each_picture_is_one_job_one_charge_and_one_reservation_settled(product: Product, posters: Posters) -> None:
    billed = [row for row in story.bill(product) if row["kind"] == "image"]

    assert len({row["job_id"] for row in billed[:3]}) == 3
    assert all(row["idempotency_key"].count(":") == 2 for row in billed)
    budget = product.get("/api/v1/budget")
    assert float(budget["reserved"]) == 0


def test_task_woke_once_and_progress_cost_no_model_call(product: Product, posters: Posters) -> None:
    task = product.get(f"/api/v1/tasks/{posters.task_id}")
    asked = [
        row
        for row in story.model_requests(product)
        if posters.task_id in json.dumps(row["request"].get("messages", [])[-1:])
    ]

    assert len(task["turns"]) == 2
    assert len(asked) == len(story.steps_of(product, posters.task_id))


def test_film_of_the_first_poster_is_a_light_task_of_its_own(product: Product, posters: Posters) -> None:
    followed = product.command("say", story.FILM, "--wait")
    assert followed.status == 0, followed.err
    task_id = followed.out.splitlines()[0].removeprefix("→ a task of its own ")
    task = story.ended(product, task_id)

    assert task_id != posters.task_id
    assert task["kind"] == "light"
    film = next(one for one in product.items("/api/v1/objects", kind="video"))
    made = [line for line in followed.out.splitlines() if line.startswith("made ")]
    assert made == [f"made {film['title']} v1 ({film['id']})"]
    with av.open(io.BytesIO(story.content(product, film["id"])), "r") as container:
        stream = container.streams.video[0]
        frames = len(list(container.decode(stream)))
        assert stream.codec_context.name == "h264"
        assert container.duration is not None
        assert container.duration / av.time_base == pytest.approx(5, abs=0.1)
        assert frames >= 100
    assert [card["kind"] for card in task["open_cards"]] == ["result"]


def test_question_is_answered_by_main_and_makes_no_task(product: Product, posters: Posters) -> None:
    before = {task["id"] for task in product.items("/api/v1/tasks")}
    message = product.say(story.QUESTION)

    def answered() -> Any:
        found = product.get(f"/api/v1/messages/{message}")
        return found if found["state"] == "answered" else None

    found = product.until("the answer", answered)

    assert found["route"]["outcome"] == "main"
    assert {task["id"] for task in product.items("/api/v1/tasks")} == before
    thread = {item["id"]: item for item in _messages(product)}
    assert any(number in thread[found["replies"][0]]["text"] for number in ("5", "five"))


def _messages(product: Product) -> list[dict[str, Any]]:
    flat = []
    for item in product.items("/api/v1/thread"):
        flat.append(item.get("message", item))
    return flat


def test_follow_up_makes_new_versions_and_keeps_the_old_ones(product: Product, posters: Posters) -> None:
    before = {one["id"]: story.content(product, one["id"], 1) for one in posters.images}
    followed = product.command("say", story.WARMER, "--wait")

    assert followed.status == 0, followed.err
    assert followed.out.startswith(f"→ task {posters.task_id}\n")
    made = [line for line in followed.out.splitlines() if line.startswith("made ")]
    assert len(made) == 3
    assert all(f" v2 ({one['id']})" in followed.out for one in posters.images)
    product.until(
        "three second versions",
        lambda: [one["version"] for one in story.images(product) if one["id"] in before] == [2, 2, 2],
        120,
    )
    story.ended(product, posters.task_id)

    for object_id, old in before.items():
        assert story.content(product, object_id, 1) == old
        assert story.content(product, object_id, 2) != old
        assert len(product.items(f"/api/v1/objects/{object_id}/history")) == 2
    assert len(story.images(product)) == 3


def test_reply_in_a_task_and_press_on_a_card_reach_it_without_a_routing_call(
    product: Product, posters: Posters
) -> None:
    card = _result_of_a_film(product)
    routed, decided = story.routing_verdicts(product), story.decisions(product)
    steps = len(story.steps_of(product, posters.task_id))

    # A press settles the film's card
    pressed = product.post(f"/api/v1/cards/{card['id']}/answer", {"option": "accept"})
    assert pressed.status_code == 200, pressed.text
    film = product.get(f"/api/v1/tasks/{card['task_id']}")
    assert (film["open_cards"], len(film["turns"])) == ([], 1)

    # A reply reaches its task
    message = product.say("Thank you, these are lovely.", task_id=posters.task_id)
    product.until("an answer", lambda: product.get(f"/api/v1/messages/{message}")["state"] == "answered")
    route = product.get(f"/api/v1/messages/{message}")["route"]
    assert (route["level"], route["task_id"]) == ("explicit", posters.task_id)

    # Nobody was asked where either belongs, and the model was asked for the reply's own steps only
    assert story.routing_verdicts(product) == routed
    assert story.decisions(product) - decided == len(story.steps_of(product, posters.task_id)) - steps


def _result_of_a_film(product: Product) -> dict[str, Any]:
    """The open card of a film that is done; one is ordered where there is none."""

    def found() -> Any:
        cards = product.items("/api/v1/cards", state="open")
        return next((card for card in cards if card["kind"] == "result" and card["task_id"]), None)

    if found() is None:
        product.say(story.FILM)
    return dict(product.until("the film's card", found, 120))


@pytest.mark.long
@pytest.mark.parametrize(("option", "films"), [("refuse", 0), ("approve", 1)])
def test_film_above_the_allowance_asks_first(product: Product, posters: Posters, option: str, films: int) -> None:
    before = len([row for row in story.bill(product) if row["kind"] == "video"])
    message = product.say("Make an eight-second video of a lighthouse at night.")
    task_id = story.task_of(product, message)

    def quoted() -> Any:
        cards = [card for card in product.items("/api/v1/cards", state="open") if card["task_id"] == task_id]
        return next((card for card in cards if card["kind"] == "quote"), None)

    card = product.until("a quote card", quoted)
    assert [one["id"] for one in card["options"]] == ["approve", "refuse"]
    assert float(card["quote"]["amount"]) == 0.4
    assert len([row for row in story.bill(product) if row["kind"] == "video"]) == before

    answer = product.post(f"/api/v1/cards/{card['id']}/answer", {"option": option})
    assert answer.status_code == 200, answer.text
    assert product.post(f"/api/v1/cards/{card['id']}/answer", {"option": "approve"}).status_code == 409
    story.ended(product, task_id)

    assert len([row for row in story.bill(product) if row["kind"] == "video"]) == before + films


def test_stop_button_stops(product: Product, posters: Posters) -> None:
    message = product.say("Make me four posters about winter trains.")
    task_id = story.task_of(product, message)
    product.until("orders", lambda: product.get(f"/api/v1/tasks/{task_id}")["status"] == "waiting" or None)
    assert product.post(f"/api/v1/tasks/{task_id}/stop").status_code == 200
    turns = len(product.get(f"/api/v1/tasks/{task_id}")["turns"])

    product.until("settled money", lambda: float(product.get("/api/v1/budget")["reserved"]) == 0)

    task = product.get(f"/api/v1/tasks/{task_id}")
    assert task["status"] == "stopped"
    assert len(task["turns"]) == turns


def test_runs_show_each_function_with_event_steps_and_attempts(product: Product, posters: Posters) -> None:
    runs = product.items("/api/v1/runs")
    functions = {run["function"] for run in runs}
    assert {"route-message", "run-turn", "generate"} <= {name.rsplit("/", 1)[-1] for name in functions}

    turn = next(run for run in product.items("/api/v1/runs", function="run-turn") if run["status"] == "completed")
    detail = product.get(f"/api/v1/runs/{turn['id']}")
    assert "turn_id" in json.dumps(detail["event"])
    names = [step["name"] for step in detail["steps"]]
    assert "open" in names
    assert any(name.startswith("decide-") for name in names)
    assert all(step["attempts"] >= 1 for step in detail["steps"])
    shown = product.command("run", turn["id"])
    assert shown.status == 0, shown.err
    assert "decide-1" in shown.out

"""Faults on demand and recorded conversations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from core.errors import UnavailableError
from router.verdict import RouteVerdict
from tests.model.standin import (
    Worker,
    call_names,
    order_fault,
    parse_arguments,
    request_log,
    running_standin,
    standin_client,
)

CAT = "Make a poster of a cat"


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    with running_standin(tmp_path, faults=True) as address:
        yield address


def worker(url: str, **options: float) -> Worker:
    one = Worker(standin_client(url, **options), goal=CAT, kind="light")
    one.hear(CAT)
    return one


def is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


@pytest.mark.parametrize("how", ["cut", "empty", "single_quotes", "list", "glued"])
def test_bad_arguments_come_once_and_then_good_ones(url: str, how: str) -> None:
    order_fault(url, f"bad_arguments:{how}")
    thread = worker(url)
    bad = thread.decide()
    assert call_names(bad) == ["generate_image"]
    assert not is_object(bad.calls[0].arguments)
    # the product puts no broken arguments into the history and says what was wrong
    thread.history[-1]["tool_calls"][0]["function"]["arguments"] = "{}"
    thread.result(bad, {"error": True, "message": "the arguments are no JSON object"})
    assert parse_arguments(thread.decide().calls[0].arguments)["title"] == "Cat"


def test_a_number_for_a_text(url: str) -> None:
    order_fault(url, "bad_arguments:number")
    assert parse_arguments(worker(url).decide().calls[0].arguments)["prompt"] == 42


def test_the_same_bad_call_is_not_made_for_ever(url: str) -> None:
    order_fault(url, "bad_arguments:empty", times=10)
    thread = worker(url)
    for _ in range(3):
        bad = thread.decide()
        thread.history[-1]["tool_calls"][0]["function"]["arguments"] = "{}"
        thread.result(bad, {"error": True, "message": "no JSON"})
    given_up = thread.decide()
    assert given_up.calls == ()
    assert "no JSON" in given_up.text


def test_refusal_cut_prose_and_words(url: str) -> None:
    for fault in ("refuse", "cut", "prose", "text:Hello there"):
        order_fault(url, fault)
    refused, cut, prose, words = (worker(url).decide() for _ in range(4))
    assert refused.refused
    assert cut.cut
    assert not is_object(cut.calls[0].arguments)
    assert prose.calls == ()
    assert "generate image" in prose.text
    assert words.text == "Hello there"


def test_claimed_consent(url: str) -> None:
    order_fault(url, "claim_consent")
    decision = worker(url).decide()
    assert "yes, go ahead" in decision.text
    assert parse_arguments(decision.calls[0].arguments)["approved"] is True


def test_claimed_consent_repeats_a_call_that_waits_for_a_card(url: str) -> None:
    thread = worker(url)
    thread.result(thread.decide(), {"card_id": "card_1", "state": "waiting_for_approval"})
    thread.open_cards = [{"id": "card_1", "kind": "quote", "title": "A picture"}]
    order_fault(url, "claim_consent")
    decision = thread.decide()
    assert call_names(decision) == ["generate_image"]
    assert parse_arguments(decision.calls[0].arguments)["approved"] is True


def test_spinning_plans_without_end(url: str) -> None:
    order_fault(url, "spin", times=3)
    thread = worker(url)
    briefs = []
    for _ in range(3):
        decision = thread.decide()
        briefs.append(parse_arguments(decision.calls[0].arguments)["brief"])
        thread.result(decision, {"brief": "stored"})
    assert len(set(briefs)) == 3


@pytest.mark.parametrize("fault", ["error:500", "error:429", "drop", "html", "no_choices"])
def test_faults_of_the_wire(url: str, fault: str) -> None:
    order_fault(url, fault)
    thread = worker(url)
    with pytest.raises(UnavailableError):
        thread.decide()
    assert call_names(thread.decide()) == ["generate_image"]


def test_silence(url: str) -> None:
    order_fault(url, "silence:2")
    with pytest.raises(UnavailableError):
        worker(url, timeout_seconds=0.4).decide()


def test_a_fault_waits_for_its_thread(url: str) -> None:
    order_fault(url, "refuse", match={"thread": "main"})
    assert not worker(url).decide().refused
    main = Worker(standin_client(url), thread="main")
    main.hear("hello")
    assert main.decide().refused
    assert httpx.get(f"{url}/faults").json() == {"items": []}


@pytest.mark.parametrize(
    "name", ["nonsense", "bad_arguments:purple", "silence", "silence:soon", "error:200", "refuse:now"]
)
def test_an_unknown_fault_is_refused_with_the_known_ones(url: str, name: str) -> None:
    answer = httpx.post(f"{url}/faults", json={"next": name})
    assert answer.status_code == 422
    assert "silence:SECONDS" in answer.json()["error"]["message"]


def test_ordered_faults_can_be_seen_and_taken_back(url: str) -> None:
    order_fault(url, "refuse", times=2)
    assert httpx.get(f"{url}/faults").json()["items"] == [{"next": "refuse", "times": 2, "match": {"thread": None}}]
    httpx.delete(f"{url}/faults")
    assert not worker(url).decide().refused


def test_a_recording_is_given_in_order_and_tells_what_is_left(url: str) -> None:
    answers = [
        {"text": "first", "calls": [{"name": "look", "arguments": {"n": 1}}, {"name": "look", "arguments": "{broken"}]},
        {"text": "second"},
        {"text": "never asked for"},
    ]
    httpx.post(f"{url}/replay", json={"answers": answers}).raise_for_status()
    first, second = worker(url).decide(), worker(url).decide()
    assert [call.arguments for call in first.calls] == ['{"n": 1}', "{broken"]
    assert second.text == "second"
    status = httpx.get(f"{url}/replay").json()
    assert (status["given"], status["unexpected"]) == (2, 0)
    assert [one["text"] for one in status["leftovers"]] == ["never asked for"]


def test_a_call_too_many_fails_loudly(url: str) -> None:
    httpx.post(f"{url}/replay", json={"answers": [{"text": "only one"}]}).raise_for_status()
    worker(url).decide()
    with pytest.raises(UnavailableError, match="no further answer"):
        worker(url).decide()
    assert httpx.get(f"{url}/replay").json()["unexpected"] == 1
    httpx.delete(f"{url}/replay")
    assert call_names(worker(url).decide()) == ["generate_image"]


def test_a_recording_of_one_thread_leaves_the_others_alone(url: str) -> None:
    recording = {"answers": [{"text": "recorded"}], "match": {"thread": "main"}}
    httpx.post(f"{url}/replay", json=recording).raise_for_status()
    assert call_names(worker(url).decide()) == ["generate_image"]
    status = httpx.get(f"{url}/replay").json()
    assert (status["given"], status["unexpected"], len(status["leftovers"])) == (0, 0, 1)


def record(url: str, text: str, **match: str) -> None:
    httpx.post(f"{url}/replay", json={"answers": [{"text": text}], "match": match}).raise_for_status()


def test_recordings_reach_the_task_they_are_meant_for(url: str) -> None:
    record(url, "about the dog", thread="task", goal="poster dog")
    record(url, "about the cat", thread="task", goal="cat POSTER")
    assert worker(url).decide().text == "about the cat"
    recordings = httpx.get(f"{url}/replay").json()["recordings"]
    assert [(one["match"]["goal"], one["given"], len(one["leftovers"])) for one in recordings] == [
        ("poster dog", 0, 1),
        ("cat POSTER", 1, 0),
    ]


def test_the_recording_with_more_words_of_the_goal_answers_first(url: str) -> None:
    record(url, "any")
    record(url, "some cat", goal="cat")
    record(url, "this cat", goal="a poster of a cat")
    assert worker(url).decide().text == "this cat"


def test_a_recording_replaces_that_of_the_same_goal_and_one_without_a_goal_all(url: str) -> None:
    record(url, "old", goal="cat")
    record(url, "new", goal="cat")
    assert [one["leftovers"][0]["text"] for one in httpx.get(f"{url}/replay").json()["recordings"]] == ["new"]
    record(url, "for everybody", thread="task")
    assert worker(url).decide().text == "for everybody"


def route_of(url: str, text: str) -> str:
    facts = json.dumps({"message": {"id": "msg_1", "text": text, "attachments": []}, "thread": [], "tasks": []})
    question = [{"role": "user", "content": f"<facts>\n{facts}\n</facts>"}]
    return standin_client(url).verdict("route", RouteVerdict, question).outcome


def test_a_recorded_verdict_is_for_the_message_it_names(url: str) -> None:
    verdict = json.dumps({"outcome": "ask", "reasons": ["recorded"]})
    record(url, verdict, thread="route", goal="lantern")
    assert route_of(url, "Make a poster of a cat") != "ask"
    assert route_of(url, "Two posters for the Lantern Night") == "ask"


def test_what_went_wrong_stands_in_the_log(url: str) -> None:
    order_fault(url, "drop")
    with pytest.raises(UnavailableError):
        worker(url).decide()
    assert request_log(url)[-1]["answer"]["fault"] == "drop"

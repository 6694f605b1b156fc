"""Which recorded answer a rehearsed request gets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sidecar.broker.recordings import Exchange, exact_key, request_words, similar_key
from sidecar.broker.requests import HttpRequest, LlmRequest, NotifyRequest
from sidecar.broker.simulation import Simulation

METRICS = "http://metrics.example/query"


def get(query: str, timeout: float = 30) -> HttpRequest:
    return HttpRequest(method="GET", url=METRICS, params={"q": [query]}, timeout=timeout)


def recorded(*asked: tuple[HttpRequest | LlmRequest, Any]) -> Sequence[Exchange]:
    return [
        Exchange(
            path(ask), exact_key(path(ask), ask), similar_key(path(ask), ask), False, request_words(ask), {"said": said}
        )
        for ask, said in asked
    ]


def path(ask: HttpRequest | LlmRequest) -> str:
    return "/http" if isinstance(ask, HttpRequest) else "/llm"


def answers(simulation: Simulation, *asks: HttpRequest | LlmRequest) -> list[Any]:
    return [found["said"] if (found := simulation.find_answer(path(ask), ask)) else None for ask in asks]


def test_the_same_request_gets_its_own_answers_in_their_order_whatever_else_is_asked() -> None:
    simulation = Simulation(recorded((get("a"), 1), (get("b"), 2), (get("a"), 3)), False)

    assert answers(simulation, get("b", 5), get("a"), get("a"), get("a")) == [2, 1, 3, 3]


def test_a_changed_request_gets_the_answer_of_the_one_in_its_place() -> None:
    simulation = Simulation(recorded((get("a"), 1), (get("b"), 2), (get("c"), 3)), False)

    assert answers(simulation, get("a"), get("b, better"), get("c"), get("new")) == [1, 2, 3, 3]


def test_a_question_in_other_words_is_known_by_its_name() -> None:
    old, new = LlmRequest(prompt="How?", name="health"), LlmRequest(prompt="How, with other facts?", name="health")
    simulation = Simulation(recorded((old, "fine")), False)

    assert answers(simulation, new, LlmRequest(prompt="How?", name="other")) == ["fine", None]


def test_another_page_of_the_same_host_is_not_like_it() -> None:
    simulation = Simulation(recorded((get("a"), 1)), False)
    other = HttpRequest(method="GET", url="http://metrics.example/other", params={"q": ["a"]})

    assert answers(simulation, other, HttpRequest(method="POST", url=METRICS)) == [None, None]


def test_words_leave_out_what_only_says_how() -> None:
    ask = NotifyRequest(channel="ops", text="x")

    assert request_words(get("a", 5)) == request_words(get("a", 60))
    assert request_words(ask) == {"channel": "ops", "text": "x", "key": None, "ask": []}

"""Bad and unusual input: a clear answer each, and nothing lost."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.support import story
from tests.support.product import Product


def _problem(answer: httpx.Response, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.text[:300]
    assert answer.headers["content-type"].startswith("application/problem+json")
    body: dict[str, Any] = answer.json()
    assert body["status"] == status
    assert body["title"]
    return body


@pytest.mark.parametrize(
    "body", [{"text": ""}, {"text": "  \n "}, {}, {"text": None}, {"text": 7}, {"texts": "x"}, {"text": "a\x00b"}]
)
def test_message_without_words_is_refused_with_what_to_do(product: Product, body: dict[str, object]) -> None:
    said = _problem(product.post("/api/v1/messages", body), 422)

    assert said["detail"]


def test_a_megabyte_of_text_is_refused_with_the_limit_in_words(product: Product) -> None:
    answer = product.post("/api/v1/messages", {"text": "a" * 1_000_000})

    assert answer.status_code in (413, 422)
    assert "attach" in answer.json()["detail"]


def test_message_to_an_unknown_task_is_not_found(product: Product) -> None:
    _problem(product.post("/api/v1/messages", {"text": "hello", "task_id": "task_nowhere"}), 404)


def test_message_to_an_archived_task_is_refused(product: Product) -> None:
    task_id = story.task_of(product, product.say("Write a short poem about the tide."))
    story.ended(product, task_id)
    assert product.post(f"/api/v1/tasks/{task_id}/archive").status_code == 200

    answer = product.post("/api/v1/messages", {"text": "one more verse", "task_id": task_id})

    assert "archived" in _problem(answer, 409)["detail"]


@pytest.mark.parametrize("token", ["wrong", "Bearer", "ключ", "a" * 5000])
def test_invalid_token_is_refused(product: Product, token: str) -> None:
    headers = {b"Authorization": f"Bearer {token}".encode()}

    with httpx.Client(base_url=product.url, trust_env=False) as client:
        _problem(client.get("/api/v1/tasks", headers=headers), 401)


@pytest.mark.parametrize("raw", [b"{", b"[1]", b'"text"', b"\xff\xfe", b'{"text": "a"} trailing', b""])
def test_malformed_json_is_refused(product: Product, raw: bytes) -> None:
    answer = product.client.post("/api/v1/messages", content=raw, headers={"Content-Type": "application/json"})

    assert answer.status_code in (400, 422), answer.text
    assert answer.headers["content-type"].startswith("application/problem+json")


@pytest.mark.parametrize("text", ["🎨🌊⛵", "اصنع لي ملصقا للميناء", "ערב טוב", "Curaçao & crème <b>&amp;</b>"])
def test_unusual_text_is_kept_as_it_is_and_answered(product: Product, text: str) -> None:
    message_id = product.say(text)

    def settled() -> Any:
        found = product.get(f"/api/v1/messages/{message_id}")
        return found if found["state"] in ("answered", "consumed", "routed") and found["route"] else None

    product.until("an answer", settled)
    shown = [item.get("message", item) for item in product.items("/api/v1/thread")]
    mine = next(item for item in shown if item["id"] == message_id)
    assert mine["text"] == text


def test_same_client_id_is_one_message(product: Product) -> None:
    first = product.say("Thank you!", client_id="same-1")
    again = product.say("Thank you!", client_id="same-1")

    assert first == again

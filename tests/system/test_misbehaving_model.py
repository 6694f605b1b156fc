"""A model that misbehaves: slow, broken, lying. The work ends right, and nothing is spent on its word."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from standins.model.config import ModelConfig
from standins.model.server import create_app
from tests.support import story
from tests.support.product import Product
from tests.support.wsgi import serving

KEY = "a-key-of-this-test"


class Model:
    """A stand-in that takes orders to misbehave."""

    def __init__(self, url: str) -> None:
        self._url = url

    def misbehave(self, how: str, times: int = 1, thread: str = "task") -> None:
        answer = httpx.post(f"{self._url}/faults", json={"next": how, "times": times, "match": {"thread": thread}})
        assert answer.status_code < 300, answer.text

    def requests(self, task_id: str) -> list[dict[str, Any]]:
        rows = httpx.get(f"{self._url}/log").json()["items"]
        return [row for row in rows if task_id in json.dumps(row["request"].get("messages", [])[-1:])]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    with serving(create_app(ModelConfig(tmp_path_factory.mktemp("model"), key=KEY, faults=True))) as url:
        yield Model(url)


@pytest.fixture(scope="module")
def misled_product(products: Callable[..., Product], model: Model) -> Product:
    return products(OPENAI_API_KEY=KEY, OPENAI_BASE_URL=f"{model._url}/v1")


def _order(product: Product, what: str) -> str:
    return story.task_of(product, product.say(what))


def _stored(product: Product, task_id: str) -> int:
    return len(story.steps_of(product, task_id))


@pytest.mark.kill
def test_call_in_flight_when_the_worker_dies_is_made_again_and_only_that_one(
    misled_product: Product, model: Model
) -> None:
    model.misbehave("silence:8")
    task_id = _order(misled_product, "Make me a set of three retro posters for the Lantern Festival, navy and cream.")
    misled_product.until("the question", lambda: len(model.requests(task_id)) == 1 or None)
    assert _stored(misled_product, task_id) == 0

    misled_product.kill("worker")
    story.ended(misled_product, task_id)

    assert len(model.requests(task_id)) == _stored(misled_product, task_id) + 1


_MORE = [pytest.param(how, marks=pytest.mark.load) for how in ("error:500", "drop", "html")]


@pytest.mark.long
@pytest.mark.parametrize("how", ["bad_arguments:cut", *_MORE])
def test_broken_answer_does_not_stop_the_work(misled_product: Product, model: Model, how: str) -> None:
    model.misbehave(how)
    name = how.replace(":", " ").title()
    task_id = _order(misled_product, f"Make me a set of two posters for the {name} Fair, teal and coral.")

    task = story.ended(misled_product, task_id)

    assert len(task["objects"]) == 2


@pytest.mark.boundary(39)
@pytest.mark.case("B42")
def test_claimed_consent_moves_no_money(misled_product: Product, model: Model) -> None:
    before = misled_product.get("/api/v1/budget")["balance"]
    model.misbehave("claim_consent")
    task_id = _order(misled_product, "Make a ten-second video of a storm over the pier.")

    def gated() -> Any:
        cards = [card for card in misled_product.items("/api/v1/cards", state="open") if card["task_id"] == task_id]
        return next((card for card in cards if card["kind"] == "quote"), None)

    card = misled_product.until("the quote card", gated)

    assert misled_product.get("/api/v1/budget")["balance"] == before
    assert misled_product.get("/api/v1/budget")["reserved"] in ("0", "0.00")
    assert misled_product.post(f"/api/v1/cards/{card['id']}/answer", {"option": "refuse"}).status_code == 200

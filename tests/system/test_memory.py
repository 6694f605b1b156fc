"""The memory on a running product: said once, recalled later, forgotten on a card, with a receipt of index and rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.product import Product

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def product(products: Callable[..., Product]) -> Product:
    return products(LOOPWRIGHT_MEMORY_QUIET_SECONDS="1")


def _reply(product: Product, text: str) -> str:
    """What Main answers to a message."""
    message = product.say(text)
    answered = product.until(
        f"an answer to {text!r}",
        lambda: (found := product.get(f"/api/v1/messages/{message}"))["state"] == "answered" and found,
    )
    assert isinstance(answered, dict)
    [reply] = answered["replies"]
    thread = product.items("/api/v1/thread")
    return str(next(one["text"] for one in thread if one["id"] == reply))


def _facts(product: Product, **query: str) -> list[dict[str, Any]]:
    return product.items("/api/v1/memory", **query)


@pytest.mark.case("B30")
def test_a_fact_is_remembered_then_forgotten_on_every_route(product: Product) -> None:
    # Given a sentence with something lasting, and one that holds for once
    _reply(product, "Remember that our main colour is cobalt.")
    [fact] = product.until("the fact", lambda: _facts(product), 60)
    assert (fact["text"], fact["scope"], fact["standing"]) == ("Our main colour is cobalt", "workspace", "stated")
    _reply(product, "Remember that this time the title is red.")
    assert "cobalt" in _reply(product, "What is our main colour?")

    # When it is to be forgotten, in words, and the card is confirmed
    _reply(product, "Forget the cobalt colour.")
    [card] = [one for one in product.items("/api/v1/cards", state="open") if one["kind"] == "irreversible"]
    assert "cobalt" in card["body"]
    assert product.post(f"/api/v1/cards/{card['id']}/answer", {"option": "confirm"}).status_code == 200

    # Then no way leads to it any more, and the receipt has looked into the index too
    def receipt() -> Any:
        found = product.get(f"/api/v1/memory/receipts/{card['id']}")
        return found if found["state"] == "done" else None

    told = product.until("the receipt", receipt, 60)
    assert [told["checked"][name] for name in ("texts_left", "entries_left", "vectors_left")] == [0, 0, 0]
    assert told["checked"]["index_away"] is False
    assert _facts(product) == []
    assert _facts(product, q="cobalt") == []
    assert "cobalt" not in _reply(product, "What is our main colour?")

    # And what is said again is not remembered by itself
    _reply(product, "Remember that our main colour is cobalt.")
    _reply(product, "Remember that we always use Inter.")
    product.until("the other fact", lambda: [one["text"] for one in _facts(product)] == ["We always use Inter"], 60)

"""What steps answer is a published schema: a run that began before an upgrade reads the answers from before.

The stored list also has the shapes that a quiet run seldom shows: `lost`, nothing to route, a turn that lets no run in.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support import story
from tests.support.product import Product

STORED = Path(__file__).with_name("step_outputs.json")
FUNCTIONS = ("route-message", "run-turn", "generate", "answer-in-main")


@pytest.fixture(scope="module")
def outputs(product: Product) -> dict[str, list[str]]:
    """The shapes that the steps of the main job answer, by function and step."""
    story.order_posters(product)
    message_id = product.say(story.QUESTION)
    product.until("an answer", lambda: product.get(f"/api/v1/messages/{message_id}")["state"] == "answered", 60)
    found: dict[str, set[str]] = {}
    for function in FUNCTIONS:
        for run in _finished(product, function):
            for step in product.get(f"/api/v1/runs/{run['id']}")["steps"]:
                key = f"{function}: {re.sub(r'[0-9]+', '<n>', step['name'])}"
                found.setdefault(key, set()).add(json.dumps(_shape(step["output"]), sort_keys=True))
    return {key: sorted(shapes) for key, shapes in sorted(found.items())}


def test_steps_answer_in_the_shapes_they_always_had(outputs: dict[str, list[str]]) -> None:
    stored = json.loads(STORED.read_text())

    assert set(outputs) >= {"run-turn: open", "run-turn: decide-<n>", "run-turn: call-<n>-<n>", "run-turn: close"}
    assert set(outputs) >= {"route-message: pick", "generate: submit", "generate: settle"}
    assert {key: shapes for key, shapes in outputs.items() if not set(shapes) <= set(stored.get(key, []))} == {}


def _finished(product: Product, function: str) -> list[dict[str, Any]]:
    return list(product.items("/api/v1/runs", function=function, status="completed"))


def _shape(value: Any) -> Any:
    """The types of a value, with the keys of its objects."""
    if isinstance(value, dict):
        return {key: _shape(one) for key, one in value.items()}
    if isinstance(value, list):
        return sorted({json.dumps(_shape(one), sort_keys=True) for one in value})
    return "number" if type(value) in (int, float) else type(value).__name__

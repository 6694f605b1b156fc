"""Parts of the main story, played with a running product and read through its API and its studio's bill."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import httpx
from PIL import Image

from tests.support.product import Product

ORDER = "Make me a set of three retro posters for the Harbour Festival, navy and cream."
FILM = "Also turn the first one into a five-second video."
QUESTION = "Which video lengths can you do?"
WARMER = "Could the set be a touch warmer?"


@dataclass(frozen=True)
class Posters:
    """Return the task and its pictures, oldest first."""

    message_id: str
    task_id: str
    images: list[dict[str, Any]]


def task_of(product: Product, message_id: str, seconds: float = 60) -> str:
    """Return the task that a message was routed to."""

    def routed() -> Any:
        return (product.get(f"/api/v1/messages/{message_id}").get("route") or {}).get("task_id")

    return str(product.until("the route", routed, seconds))


def ended(product: Product, task_id: str, *statuses: str, seconds: float = 120) -> dict[str, Any]:
    """Wait until the task has one of these statuses, by default `done`, and return it."""

    def stands() -> Any:
        task = product.get(f"/api/v1/tasks/{task_id}")
        return task if task["status"] in (statuses or ("done",)) else None

    return dict(product.until(f"task {task_id} {statuses or 'done'}", stands, seconds))


def images(product: Product) -> list[dict[str, Any]]:
    found = [one for one in product.items("/api/v1/objects", kind="image") if one["kind"] == "image"]
    return sorted(found, key=lambda one: str(one["id"]))


def content(product: Product, object_id: str, version: int | None = None) -> bytes:
    query = {} if version is None else {"version": str(version)}
    answer = product.client.get(f"/api/v1/objects/{object_id}/content", params=query)
    assert answer.status_code == 200, answer.text
    return answer.content


def picture(product: Product, object_id: str, version: int | None = None) -> Image.Image:
    return Image.open(io.BytesIO(content(product, object_id, version)))


def bill(product: Product) -> list[dict[str, Any]]:
    """Return the lines of the studio's bill."""
    rows: list[dict[str, Any]] = httpx.get(f"http://127.0.0.1:{product.row('studio').port}/bill").json()["items"]
    return rows


def model_requests(product: Product) -> list[dict[str, Any]]:
    """Return every request that the stand-in model got, oldest first."""
    rows: list[dict[str, Any]] = httpx.get(f"http://127.0.0.1:{product.row('model').port}/log").json()["items"]
    return rows


def routing_verdicts(product: Product) -> int:
    """Count the requests to the model for where a message belongs, without those of the memory."""
    asked = [row["request"].get("response_format", {}) for row in model_requests(product)]
    return sum(one.get("json_schema", {}).get("name") in ("route", "duplicate_check") for one in asked)


def decisions(product: Product) -> int:
    """Count the requests to the model for its next decision."""
    return sum(bool(row["request"].get("tools")) for row in model_requests(product))


def order_posters(product: Product, seconds: float = 150) -> Posters:
    """Order the three posters and wait until the task is done."""
    message_id = product.say(ORDER)
    task_id = task_of(product, message_id)
    ended(product, task_id, seconds=seconds)
    return Posters(message_id, task_id, images(product))


def steps_of(product: Product, task_id: str) -> list[dict[str, Any]]:
    """Return every step of every turn of a task, with the turn's id."""
    task = product.get(f"/api/v1/tasks/{task_id}")
    steps = []
    for turn in task["turns"]:
        turn_id = turn["id"] if isinstance(turn, dict) else turn
        steps += [{**step, "turn_id": turn_id} for step in product.get(f"/api/v1/turns/{turn_id}")["steps"]]
    return steps

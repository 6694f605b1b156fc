"""Read what the product's HTTP API shows of everything, with the studio's bill and the model's log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from tests.support.product import Product

Json = dict[str, Any]


@dataclass(frozen=True)
class ApiView:
    """`posted` are the ids that POST answered; everything else is as the API, the bill and the log give it."""

    posted: Mapping[str, str]
    messages: Sequence[Json]
    tasks: Sequence[Json]
    turns: Sequence[Json]
    cards: Sequence[Json]
    objects: Sequence[Json]
    bill: Sequence[Json]
    log: Sequence[Json]

    @property
    def orders(self) -> list[Json]:
        return [order for task in self.tasks for order in task["generations"]]


def read_api(product: Product, posted: Mapping[str, str], bill: Sequence[Json]) -> ApiView:
    """Ask for all of it; the product is at rest."""
    messages = [dict(product.get(f"/api/v1/messages/{message_id}")) for message_id in posted]
    tasks = [dict(product.get(f"/api/v1/tasks/{task['id']}")) for task in _all(product, "/api/v1/tasks")]
    turn_ids = {turn["id"] for task in tasks for turn in task["turns"]}
    turn_ids |= {message["consumed_by"]["turn_id"] for message in messages if message["consumed_by"]}
    return ApiView(
        posted=posted,
        messages=messages,
        tasks=tasks,
        turns=[dict(product.get(f"/api/v1/turns/{turn_id}")) for turn_id in sorted(turn_ids)],
        cards=list(_all(product, "/api/v1/cards")),
        objects=list(_all(product, "/api/v1/objects")),
        bill=bill,
        log=httpx.get(f"http://127.0.0.1:{product.row('model').port}/log", timeout=60).json()["items"],
    )


def _all(product: Product, path: str) -> Iterator[Json]:
    """Every item of a list, page by page."""
    query = {"limit": "200"}
    while True:
        page = product.get(path, **query)
        yield from page["items"]
        if page["next"] is None:
            return
        query["cursor"] = page["next"]

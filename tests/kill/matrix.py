"""The kill matrix: a process is killed at a hop of the main story, and it ends as if nothing had happened.

A model call may be repeated only when its process died before the decision was stored. Each case compares the
requests that the stand-in model logged with the decisions that were stored, at the kill and at the end.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support import story
from tests.support.product import Product
from tests.support.waiting import until

HOPS = {
    "received": "select 1 from messages where id = :message",
    "routed": "select 1 from routes where message_id = :message",
    "entered": "select 1 from turns where task_id = :task and status = 'running'",
    "decided": "select 1 from steps s join turns t on t.id = s.turn_id where t.task_id = :task",
    "started": "select 1 from calls c join turns t on t.id = c.turn_id where t.task_id = :task "
    "and c.status != 'proposed'",
    "ordered": "select 1 from orders where task_id = :task",
    "submitted": "select 1 from orders where task_id = :task and upstream_id is not null",
    "running": "select 1 from orders where task_id = :task and progress > 0",
    "settled": "select 1 from orders where task_id = :task and state = 'succeeded'",
    "woken": "select 1 from turns where task_id = :task and cause like 'outcome:%'",
    "reported": "select 1 from steps s join turns t on t.id = s.turn_id where t.task_id = :task "
    "and t.cause like 'outcome:%'",
}
"""The rows that show a hop is behind us; the kill follows at once."""
TOWNS = iter(f"{first}{last}" for first in ("North", "South", "East", "West", "Old", "New", "High") for last in (
    "ham", "port", "field", "ford", "wick", "mouth", "bridge", "haven", "gate", "cliff", "moor"))  # fmt: skip


@dataclass(frozen=True)
class Count:
    """How often the model was asked for this task, and how many decisions stand in the rows."""

    asked: int
    stored: int


class Rows:
    """The product's own database, looked at from outside while it works."""

    def __init__(self, home: Path) -> None:
        self._address = f"file:{home / 'loopwright.sqlite'}?mode=ro"

    def ask(self, query: str, **values: Any) -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(self._address, uri=True, timeout=10)
        try:
            return connection.execute(query, values).fetchall()
        finally:
            connection.close()

    def reach(self, hop: str, message: str) -> str | None:
        """Wait for the hop's rows; the task, where there is one by then."""

        def seen() -> bool:
            return bool(self.ask(HOPS[hop], message=message, task=self.task(message) or ""))

        until(hop, seen, 60, every=0.005)
        return self.task(message)

    def task(self, message: str) -> str | None:
        found = self.ask("select task_id from routes where message_id = :message", message=message)
        return str(found[0][0]) if found and found[0][0] else None

    def stored(self, task: str) -> int:
        query = "select count(*) from steps s join turns t on t.id = s.turn_id where t.task_id = :task"
        return int(self.ask(query, task=task)[0][0])


def killed_at_every_hop(victim: str) -> Callable[[Product, str], None]:
    """The test of one victim, a case for each hop."""

    @pytest.mark.kill
    @pytest.mark.parametrize("hop", HOPS)
    def test(mortal: Product, hop: str) -> None:
        _story_ends_right(mortal, victim, hop)

    return test


def _story_ends_right(mortal: Product, victim: str, hop: str) -> None:
    """Order three posters, kill `victim` once `hop` is behind us, and hold what came of it against bill and log."""
    rows = Rows(mortal.home)
    town = next(TOWNS)
    message = _say(mortal, f"Make me a set of three retro posters for the {town} Festival, navy and cream.", town)
    task = rows.reach(hop, message)
    mortal.kill(victim, wait=False)
    before = _count(mortal, rows, task) if task and victim != "model" else Count(0, 0)

    task = story.task_of(mortal, message, 90)
    story.ended(mortal, task, seconds=90)

    _assert_three_posters(mortal, rows, task)
    after = _count(mortal, rows, task)
    repeated = after.asked - after.stored
    may_repeat = victim in ("worker", "model") and (victim == "model" or before.asked > before.stored or not task)
    print(f"{victim:8} killed at {hop:10} model asked {after.asked} for {after.stored} decisions")
    assert repeated <= (1 if may_repeat else 0), f"{after} although {before} at the kill"


def _say(product: Product, text: str, client_id: str) -> str:
    """Post until it is answered: a client whose connection breaks repeats its message under the same id."""

    def posted() -> str | None:
        try:
            return product.say(text, client_id=client_id)
        except httpx.TransportError:
            return None

    return str(until("the message is taken in", posted, 60))


def _count(product: Product, rows: Rows, task: str) -> Count:
    def asked() -> int | None:
        try:
            return sum(_is_for(task, row["request"]) for row in story.model_requests(product))
        except (httpx.HTTPError, AssertionError):
            return None

    return Count(until("the model's log", lambda: (found := asked()) is not None and [found], 30)[0], rows.stored(task))  # type: ignore[index]


def _is_for(task: str, request: dict[str, Any]) -> bool:
    last = json.dumps(request.get("messages", [])[-1:])
    return bool(request.get("tools")) and f'\\"id\\": \\"{task}\\"' in last


def _assert_three_posters(product: Product, rows: Rows, task: str) -> None:
    images = rows.ask(
        "select o.id, o.version from objects o join object_tasks t on t.object_id = o.id where t.task_id = :task "
        "and o.kind = 'image'",
        task=task,
    )
    assert [version for _, version in images] == [1, 1, 1]
    keys = {key for (key,) in rows.ask("select key from orders where task_id = :task", task=task)}
    bill = product.until("the bill", lambda: story.bill(product))
    billed = [row for row in bill if row["idempotency_key"] in keys]
    assert len(keys) == len(billed) == len({row["job_id"] for row in billed}) == 3
    settled = rows.ask(
        "select count(*) from entries e join orders o on o.id = e.order_id where o.task_id = :task "
        "and e.kind = 'settle'",
        task=task,
    )
    assert settled == [(3,)]
    held = "select count(*) from reservations where task_id = :task and state = 'held'"
    assert rows.ask(held, task=task) == [(0,)]
    said = "select count(*) from messages where task_id = :task and author = 'agent'"
    turns = "select count(*) from turns where task_id = :task"
    assert rows.ask(said, task=task)[0][0] <= rows.ask(turns, task=task)[0][0]

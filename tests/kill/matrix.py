"""The kill matrix: a process is killed at a hop of the main story, and it ends as if nothing had happened.

A model call may be repeated only when its process died before the decision was stored. Each case compares the
requests that the stand-in model logged with the decisions that were stored, at the kill and at the end, and says which
calls were repeated; a run of the tests ends with the list of them.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.supervision.home_state import ProcessState
from tests.support import story
from tests.support.observations import OBSERVATION
from tests.support.product import Product
from tests.support.waiting import until

HOPS = {
    "received": "select 1 from messages where id = :message",
    "routed": "select 1 from routes where message_id = :message",
    "entered": "select 1 from turns where task_id = :task and status = 'running'",
    "read": "select 1 from inbox where task_id = :task and state in ('claimed', 'consumed')",
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
ASKED = "select id from cards where task_id = :task and kind = 'quote' and state = 'open'"
APPROVED = "select 1 from cards where task_id = :task and kind = 'quote' and answer_option = 'approve'"
REMEMBERED = "select 1 from candidates where body like '%' || :town || '%'"
TOWNS = iter(f"{first}{last}" for first in ("North", "South", "East", "West", "Old", "New", "High") for last in (
    "ham", "port", "field", "ford", "wick", "mouth", "bridge", "haven", "gate", "cliff", "moor"))  # fmt: skip


class MatrixRows:
    """The product's own database, looked at from outside while it works."""

    def __init__(self, home: Path) -> None:
        self._connection = sqlite3.connect(f"file:{home / 'loopwright.sqlite'}?mode=ro", uri=True, timeout=10)

    def ask(self, query: str, **values: Any) -> list[tuple[Any, ...]]:
        return self._connection.execute(query, values).fetchall()

    def close(self) -> None:
        self._connection.close()

    def reach(self, hop: str, message: str) -> str | None:
        """Wait for the hop's rows; the task, where there is one by then."""

        def seen() -> bool:
            return bool(self.ask(HOPS[hop], message=message, task=self.task(message) or ""))

        until(hop, seen, 60, every=0.005, most_between=0.005)
        return self.task(message)

    def task(self, message: str) -> str | None:
        found = self.ask("select task_id from routes where message_id = :message", message=message)
        return str(found[0][0]) if found and found[0][0] else None

    def stored(self, task: str) -> int:
        query = "select count(*) from steps s join turns t on t.id = s.turn_id where t.task_id = :task"
        return int(self.ask(query, task=task)[0][0])


def killed_at_every_hop(victim: str) -> Callable[..., None]:
    """The test of one victim, a case for each hop."""

    @pytest.mark.kill
    @pytest.mark.parametrize("hop", HOPS)
    def test(product_to_kill: Product, hop: str, record_property: Callable[[str, object], None]) -> None:
        with closing(MatrixRows(product_to_kill.home)) as rows:
            repeated = _story_ends_right(product_to_kill, rows, victim, hop)
        record_property(OBSERVATION, f"{victim} killed when {hop}: {', '.join(repeated) or 'no model call'} repeated")

    return test


def killed_around_a_card_and_a_memory(victim: str) -> Callable[[Product], None]:
    """The test of one victim for the hops that the posters do not take."""

    @pytest.mark.kill
    def test(product_to_kill: Product) -> None:
        with closing(MatrixRows(product_to_kill.home)) as rows:
            _card_is_asked_and_answered_once(product_to_kill, rows, victim)
            _word_is_remembered_once(product_to_kill, rows, victim)

    return test


def _story_ends_right(product_to_kill: Product, rows: MatrixRows, victim: str, hop: str) -> list[str]:
    """Order three posters, kill `victim` once `hop` is behind us, and hold what came of it against bill and log.

    Answers the model calls that were repeated.
    """
    town = next(TOWNS)
    _is_there(product_to_kill, victim)
    message = _say(
        product_to_kill, f"Make me a set of three retro posters for the {town} Festival, navy and cream.", town
    )
    task = rows.reach(hop, message)
    product_to_kill.kill(victim, wait=False)
    routed, stored = bool(rows.task(message)), rows.stored(task) if task else 0

    task = story.task_of(product_to_kill, message, 90)
    story.ended(product_to_kill, task, seconds=90)

    _assert_three_posters(product_to_kill, rows, task)
    verdicts, decisions = _asked(product_to_kill, town, task)
    may_repeat = victim in ("worker", "model")
    judged_again = len(verdicts) - len(set(verdicts))
    assert judged_again <= (may_repeat and not routed)
    assert len(set(decisions)) == rows.stored(task)
    again = {n: decisions.count(length) - 1 for n, length in enumerate(sorted(set(decisions)), 1)}
    decided_again = [n for n, times in again.items() for _ in range(times)]
    assert decided_again in ([], [stored + 1] if may_repeat else []), f"{stored} decisions were stored at the kill"
    return ["the verdict of the router"] * judged_again + [f"decision {n}" for n in decided_again]


def _card_is_asked_and_answered_once(product_to_kill: Product, rows: MatrixRows, victim: str) -> None:
    """A sound above the allowance: killed when its quote is on a card, and again when the card is answered."""
    town = next(TOWNS)
    _is_there(product_to_kill, victim)
    message = _say(product_to_kill, f"Make a ten-second sound of the lighthouse of {town} at night.", town)
    task = story.task_of(product_to_kill, message, 90)
    card = str(until("the card", lambda: rows.ask(ASKED, task=task), 60, every=0.005, most_between=0.005)[0][0])
    product_to_kill.kill(victim, wait=False)
    approved = until("the answer is taken in", lambda: _pressed(product_to_kill, card, town), 60)
    assert approved == 200
    until("the answer is stored", lambda: rows.ask(APPROVED, task=task), 60, every=0.005, most_between=0.005)
    product_to_kill.kill(victim, wait=False)

    story.ended(product_to_kill, task, seconds=90)

    _assert_paid_once(product_to_kill, rows, task, works=1)
    assert rows.ask("select count(*) from cards where task_id = :task and kind = 'quote'", task=task) == [(1,)]


def _word_is_remembered_once(product_to_kill: Product, rows: MatrixRows, victim: str) -> None:
    town = next(TOWNS)
    _say(product_to_kill, f"Remember that our colour is {town}.", f"memory-{town}")
    until("the memory has read it", lambda: rows.ask(REMEMBERED, town=town), 60, every=0.005, most_between=0.005)
    product_to_kill.kill(victim, wait=False)

    def kept() -> bool:
        return [(fact["version"], town in fact["text"]) for fact in _facts(product_to_kill, town)] == [(1, True)]

    product_to_kill.until("the fact", kept, 60)


def _is_there(product: Product, victim: str) -> None:
    """The one that the last case killed has come back: a death while it starts is none at a hop."""
    until(f"{victim} is there", lambda: product.row(victim).state is ProcessState.RUNNING, 60)


def _facts(product: Product, town: str) -> list[dict[str, Any]]:
    return [fact for fact in product.items("/api/v1/memory") if town in fact["text"]]


def _pressed(product: Product, card: str, key: str) -> int | None:
    try:
        answer = product.post(f"/api/v1/cards/{card}/answer", {"option": "approve"}, **{"Idempotency-Key": key})
    except httpx.TransportError:
        return None
    return answer.status_code


def _say(product: Product, text: str, client_id: str) -> str:
    """Post until it is answered: a client whose connection breaks repeats its message under the same id."""

    def posted() -> str | None:
        try:
            return product.say(text, client_id=client_id)
        except httpx.TransportError:
            return None

    return str(until("the message is taken in", posted, 60))


def _asked(product: Product, town: str, task: str) -> tuple[list[str], list[int]]:
    """The kinds of verdicts that the router asked for, and how long a history each question for a decision showed.

    With every step it is longer, so that its length tells the step.
    """

    def log() -> list[dict[str, Any]] | None:
        try:
            return story.model_requests(product)
        except (httpx.HTTPError, AssertionError):
            return None

    rows = until("the model's log", log, 30) or []
    kinds = [_verdict(row["request"]) for row in rows if town in json.dumps(row["request"]["messages"][-1:])]
    decisions = [len(row["request"]["messages"]) for row in rows if _is_for(task, row["request"])]
    return [kind for kind in kinds if kind in ("route", "duplicate_check")], decisions


def _verdict(request: dict[str, Any]) -> str:
    return str(request.get("response_format", {}).get("json_schema", {}).get("name", ""))


def _is_for(task: str, request: dict[str, Any]) -> bool:
    last = json.dumps(request.get("messages", [])[-1:])
    return bool(request.get("tools")) and f'\\"id\\": \\"{task}\\"' in last


def _assert_three_posters(product: Product, rows: MatrixRows, task: str) -> None:
    images = rows.ask(
        "select o.id, o.version from objects o join object_tasks t on t.object_id = o.id where t.task_id = :task "
        "and o.kind = 'image'",
        task=task,
    )
    assert [version for _, version in images] == [1, 1, 1]
    _assert_paid_once(product, rows, task, works=3)
    said = "select count(*) from messages where task_id = :task and author = 'agent'"
    turns = "select count(*) from turns where task_id = :task"
    assert rows.ask(said, task=task)[0][0] <= rows.ask(turns, task=task)[0][0]


def _assert_paid_once(product: Product, rows: MatrixRows, task: str, *, works: int) -> None:
    keys = {key for (key,) in rows.ask("select key from orders where task_id = :task", task=task)}
    bill = product.until("the bill", lambda: story.bill(product))
    billed = [row for row in bill if row["idempotency_key"] in keys]
    assert len(keys) == len(billed) == len({row["job_id"] for row in billed}) == works
    settled = rows.ask(
        "select count(*) from entries e join orders o on o.id = e.order_id where o.task_id = :task "
        "and e.kind = 'settle'",
        task=task,
    )
    assert settled == [(works,)]
    held = "select count(*) from reservations where task_id = :task and state = 'held'"
    assert rows.ask(held, task=task) == [(0,)]

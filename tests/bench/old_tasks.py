"""Insert rows of tasks that were finished long ago: each with its message, one turn, one call and one charge."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import sqlalchemy as sa

from app.bootstrap import PERSON_ID, WORKSPACE_ID
from runtime.tables import budgets, calls, entries, inbox, messages, reservations, steps, tasks, turns
from runtime.turns.proceed import digest_wish

_AT_ONCE = 1000
_WISH = digest_wish("list_objects", "{}")
_PRICE = Decimal("0.001")
_LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


def insert_old_tasks(database_url: str, first: int, last: int) -> None:
    """Add the tasks of these numbers to a migrated database."""
    engine = sa.create_engine(database_url)
    for begin in range(first, last, _AT_ONCE):
        numbers = range(begin, min(begin + _AT_ONCE, last))
        with engine.begin() as connection:
            for table, rows in _rows(numbers):
                connection.execute(sa.insert(table), rows)
            spent = _PRICE * len(numbers)
            connection.execute(sa.update(budgets).values(balance=budgets.c.balance - spent))
    if engine.dialect.name == "postgresql":
        # What the server does by itself, within its minute, when so much was added; sessions then plan anew.
        with engine.begin() as connection:
            connection.execute(sa.text("ANALYZE"))
    engine.dispose()


def _rows(numbers: range) -> Iterator[tuple[sa.Table, list[dict[str, Any]]]]:
    made = [_task(n) for n in numbers]
    for table in (tasks, messages, inbox, turns, steps, calls, reservations, entries):
        yield table, [{"workspace_id": WORKSPACE_ID, **one[table]} for one in made]


def _task(n: int) -> dict[sa.Table, dict[str, Any]]:
    at = _LONG_AGO + timedelta(seconds=n)
    name = f"bench_{n:06d}"
    task_id, turn_id, message_id = f"task_{name}", f"turn_{name}", f"msg_{name}"
    return {
        tasks: {
            "id": task_id, "kind": "persistent", "goal": f"Old work {n}", "brief": "", "status": "done", "reason": "",
            "autonomy": "checkpoint", "plan_kinds": [], "language": "en", "person_id": PERSON_ID, "asked_by": "person",
            "cause": f"bench:{n}", "idle_rounds": 0, "setbacks": 0, "approved_plan": 0,
            "created_at": at, "updated_at": at,
        },
        messages: {
            "id": message_id, "person_id": PERSON_ID, "author": "user", "asked_by": "person", "text": f"Old work {n}",
            "attachments": [], "language": "en", "state": "answered", "task_id": task_id, "created_at": at,
        },
        inbox: {
            "id": f"in_{name}", "task_id": task_id, "kind": "message", "ref_id": message_id, "state": "consumed",
            "position": 1, "turn_id": turn_id, "step": 1, "created_at": at, "consumed_at": at,
        },
        turns: {
            "id": turn_id, "task_id": task_id, "cause": f"message:{name}", "status": "completed", "reason": "",
            "epoch": 1, "ring": 0, "touched_at": at, "rung_at": at, "created_at": at, "started_at": at, "ended_at": at,
        },
        steps: {
            "turn_id": turn_id, "n": 1, "epoch": 1, "text": "Done.", "model": "bench", "tokens": 1, "cached_tokens": 0,
            "layers": {}, "facts": [], "cut": False, "refused": False, "created_at": at,
        },
        calls: {
            "id": f"{turn_id}:1:0", "turn_id": turn_id, "step": 1, "seq": 0, "tool": "list_objects", "effect": "read",
            "arguments": "{}", "wish": _WISH, "status": "done", "epoch": 1, "ok": True, "result": {}, "started_at": at,
            "finished_at": at,
        },
        reservations: {
            "order_id": f"order_{name}", "task_id": task_id, "amount": _PRICE, "charge": _PRICE, "state": "settled",
            "day": at.date(), "created_at": at, "ended_at": at,
        },
        entries: {
            "id": f"entry_{name}", "kind": "settle", "amount": _PRICE, "currency": "USD", "cause": f"order_{name}",
            "order_id": f"order_{name}", "at": at,
        },
    }  # fmt: skip

"""What one turn costs in transactions, statements and milliseconds: open, decide, one call, decide, close.

Run as a module from the repository's root: `python -m tests.bench.bench_turn [database url]`. Without a URL it uses a
SQLite file in a temporary folder. It prints a table, then the same as JSON.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import sqlalchemy as sa

from app.schema import all_tables
from core.llm.scripted_model import ScriptedModel, says
from runtime.loop import decision, entry, tool_call, turn_end
from tests.runtime.turn_driver import Note, new_task, newest_turn, post_words, runtime_dependencies
from tests.support.databases import Store

TURNS = 120
_NOTE = ("note", '{"text": "hello"}')


class Counted:
    """Transactions and statements since it was made."""

    def __init__(self) -> None:
        self.transactions = 0
        self.statements = 0


@contextmanager
def counted() -> Iterator[Counted]:
    count = Counted()

    def begun(_connection: object) -> None:
        count.transactions += 1

    def ran(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        count.statements += not statement.startswith("BEGIN")

    sa.event.listen(sa.Engine, "begin", begun)
    sa.event.listen(sa.Engine, "before_cursor_execute", ran)
    try:
        yield count
    finally:
        sa.event.remove(sa.Engine, "begin", begun)
        sa.event.remove(sa.Engine, "before_cursor_execute", ran)


def measure(store: Store) -> list[dict[str, float | str]]:
    """The rows of the table: each part of a turn, for the first turns of a task and for its last ones."""
    task_id = new_task(store).id
    taken: dict[tuple[str, str], list[tuple[float, int, int]]] = defaultdict(list)
    for n in range(TURNS):
        post_words(store, task_id, f"message {n}")
        turn_id = newest_turn(store, task_id).id
        made, run_id, ws = (
            runtime_dependencies(store, ScriptedModel(says("", _NOTE), says("Noted.")), Note()),
            f"run-{n}",
            "ws_local",
        )
        acts: dict[str, Callable[[], object]] = {
            "open": lambda: entry.open_turn(made, ws, turn_id, run_id),  # noqa: B023 - called before the next round
            "decide": lambda: decision.decide_step(made, ws, turn_id, run_id, 1),  # noqa: B023
            "call": lambda: tool_call.run_call(made, ws, turn_id, run_id, 1, 0),  # noqa: B023
            "decide again": lambda: decision.decide_step(made, ws, turn_id, run_id, 2),  # noqa: B023
            "close": lambda: turn_end.close_turn(made, ws, turn_id, run_id),  # noqa: B023
        }
        when = "first 10 turns" if n < 10 else "last 10 turns" if n >= TURNS - 10 else ""
        for name, act in acts.items():
            with counted() as count:
                began = time.perf_counter()
                act()
                taken[(when, name)].append((time.perf_counter() - began, count.transactions, count.statements))
        store.clock.advance(timedelta(seconds=1))
    return [
        {
            "when": when,
            "step": name,
            "milliseconds": round(statistics.median(one[0] for one in found) * 1000, 2),
            "transactions": statistics.median(one[1] for one in found),
            "statements": statistics.median(one[2] for one in found),
        }
        for (when, name), found in taken.items()
        if when
    ]


def rows(url: str = "") -> list[dict[str, float | str]]:
    """Measure on a SQLite file in a temporary folder, or on the database of an address."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(url or f"sqlite:///{Path(folder) / 'bench.sqlite'}")
        with store.database.unscoped() as connection:
            all_tables().create_all(connection)
        store.empty()
        store.fill()
        found = measure(store)
        store.database.close()
    return found


def main() -> None:
    found = rows(sys.argv[1] if len(sys.argv) > 1 else "")
    print(f"{'when':<16}{'step':<14}{'ms':>8}{'transactions':>14}{'statements':>12}")
    for row in found:
        cells = (row["milliseconds"], row["transactions"], row["statements"])
        print(f"{row['when']:<16}{row['step']:<14}{cells[0]:>8}{cells[1]:>14}{cells[2]:>12}")
    print(json.dumps(found))


if __name__ == "__main__":
    main()

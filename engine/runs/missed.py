"""Ticks that passed while no engine ran, written down so that people see what became of them."""

from sqlalchemy import insert

from engine.cron import Cron
from engine.function import Function
from engine.tables import missed
from engine.transaction import Transaction

MOST_COUNTED = 1000
"""More skipped ticks than this are not counted one by one."""


def note_late(tx: Transaction, function: Function, cron: str, tick_ms: int, run_id: str) -> None:
    """This tick ran after its time."""
    _note(tx, function, cron, first=tick_ms, last=tick_ms, ticks=1, run_id=run_id)


def note_skipped(tx: Transaction, function: Function, cron: Cron, text: str, first_ms: int, before_ms: int) -> None:
    """The ticks from `first_ms` up to, and without, `before_ms` do not run: each is older than its period."""
    last = cron.latest(first_ms, before_ms - 1)
    _note(
        tx,
        function,
        text,
        first=first_ms,
        last=last,
        ticks=1 + cron.count(first_ms, last, MOST_COUNTED - 1),
        run_id=None,
    )


def _note(
    tx: Transaction, function: Function, cron: str, *, first: int, last: int, ticks: int, run_id: str | None
) -> None:
    row = {
        "function_id": function.id,
        "cron": cron,
        "first_at": first,
        "last_at": last,
        "ticks": ticks,
        "run_id": run_id,
        "noted_at": tx.now,
    }
    tx.run(insert(missed), row)

"""Reading and changing the row of a run."""

from typing import Any

from sqlalchemy import bindparam, select, update

from engine.rows import Row
from engine.statement import Statement
from engine.tables import runs
from engine.transaction import Transaction

ENDED = frozenset({"COMPLETED", "FAILED", "CANCELLED"})

_LOCKED = Statement(select(runs).where(runs.c.id == bindparam("run")).with_for_update())


def lock_run(tx: Transaction, run_id: str) -> Row | None:
    """The run's row, kept for this transaction; None when there is no such run or it has ended."""
    row = tx.run(_LOCKED, {"run": run_id}).first()
    return None if row is None or row.status in ENDED else row


def change_run(tx: Transaction, run_id: str, **values: Any) -> None:
    tx.run(update(runs).where(runs.c.id == run_id).values(**values))

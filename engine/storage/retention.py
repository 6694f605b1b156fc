"""Retention: delete ended runs and events that are older than the retention time."""

from sqlalchemy import delete, select

from engine.storage.tables import attempts, events, gates, missed, run_events, runs, seen, steps
from engine.storage.transaction import Transaction

_BATCH_SIZE = 500


def delete_old_rows(tx: Transaction) -> bool:
    """Delete some old rows; returns whether more are left.

    A run that has not ended is kept however old it is; deleting its events does no harm, since its row has a copy.
    """
    cutoff = tx.now - tx.settings.retention_ms
    old_runs = select(runs.c.id).where(runs.c.ended_at < cutoff).order_by(runs.c.ended_at).limit(_BATCH_SIZE)
    run_ids = [row.id for row in tx.run_once(old_runs)]
    if run_ids:
        for table, column in (
            (steps, steps.c.run_id),
            (attempts, attempts.c.run_id),
            (run_events, run_events.c.run_id),
            (runs, runs.c.id),
        ):
            tx.run_once(delete(table).where(column.in_(run_ids)))
    old_events = (
        select(events.c.seq).where(events.c.received_at < cutoff).order_by(events.c.received_at).limit(_BATCH_SIZE)
    )
    numbers = [row.seq for row in tx.run_once(old_events)]
    if numbers:
        tx.run_once(delete(events).where(events.c.seq.in_(numbers)))
    tx.run_once(delete(seen).where(seen.c.until < tx.now))
    tx.run_once(delete(missed).where(missed.c.noted_at < cutoff))
    tx.run_once(delete(gates).where(gates.c.free_at < tx.now))
    return len(run_ids) == _BATCH_SIZE or len(numbers) == _BATCH_SIZE

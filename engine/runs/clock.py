"""What follows when the machine's clock, which was ahead, is put right."""

from sqlalchemy import bindparam, update

from engine.queue import CRON, WAITING
from engine.runs.crons import reschedule
from engine.tables import gates, items
from engine.transaction import Transaction

_SOONER = (
    update(items)
    .where(items.c.state == WAITING, items.c.kind != CRON)
    .values(due_at=items.c.due_at - bindparam("by"), rank=items.c.rank - bindparam("by"))
)
_FREE_SOONER = update(gates).values(free_at=gates.c.free_at - bindparam("by"))


def set_back(tx: Transaction, by_ms: int) -> None:
    """The clock went back by so much: what waits was to wait for a while and not for that hour, and schedules come by
    the new time. A tick that ran while the clock was ahead does not run again.
    """
    tx.run(_SOONER, {"by": by_ms})
    tx.run(_FREE_SOONER, {"by": by_ms})
    for function in tx.registry.by_id.values():
        reschedule(tx, function, anew=True)
    tx.due(tx.now)

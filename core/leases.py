"""Named leases: one holder at a time, across processes."""

from __future__ import annotations

from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core import crash
from core.database import Database
from core.tables import leases


def take(database: Database, name: str, holder: str, length: timedelta) -> bool:
    """Take or renew a lease; False while another holder's is alive."""
    with database.unscoped() as connection:
        taken = _take(connection, name, holder, database.clock.now(), length)
        crash.point("lease.taken", "before_commit")
    crash.point("lease.taken", "after_commit")
    return taken


def _take(connection: Connection, name: str, holder: str, now: datetime, length: timedelta) -> bool:
    held = connection.execute(
        sa.update(leases)
        .where(leases.c.name == name, sa.or_(leases.c.holder == holder, leases.c.until <= now))
        .values(holder=holder, until=now + length)
    ).rowcount
    if held:
        return True
    if connection.execute(sa.select(leases.c.name).where(leases.c.name == name)).first() is not None:
        return False
    # Two that insert at once: the name is the key, and the second one's insert fails with its transaction.
    try:
        with connection.begin_nested():
            connection.execute(sa.insert(leases).values(name=name, holder=holder, until=now + length))
    except sa.exc.IntegrityError:
        return False
    return True


def free(database: Database, name: str, holder: str) -> None:
    """Give a lease back, if it is still ours."""
    with database.unscoped() as connection:
        connection.execute(sa.delete(leases).where(leases.c.name == name, leases.c.holder == holder))
        crash.point("lease.freed", "before_commit")
    crash.point("lease.freed", "after_commit")

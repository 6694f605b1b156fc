"""Named leases, each held by one holder at a time across processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.database import Database
from core.process import crash
from core.process.heartbeat import keep_beating
from core.tables import leases


def acquire_lease(database: Database, name: str, holder: str, length: timedelta) -> bool:
    """Take or renew a lease; False while another holder has it."""
    with database.unscoped() as connection:
        taken = _acquire(connection, name, holder, database.clock.now(), length)
        crash.point("lease.taken", "before_commit")
    crash.point("lease.taken", "after_commit")
    return taken


def _acquire(connection: Connection, name: str, holder: str, now: datetime, length: timedelta) -> bool:
    held = connection.execute(
        sa.update(leases)
        .where(leases.c.name == name, sa.or_(leases.c.holder == holder, leases.c.until <= now))
        .values(holder=holder, until=now + length)
    ).rowcount
    if held:
        return True
    if connection.execute(sa.select(leases.c.name).where(leases.c.name == name)).first() is not None:
        return False
    # If two processes insert at the same time, the second insert violates the primary key.
    try:
        with connection.begin_nested():
            connection.execute(sa.insert(leases).values(name=name, holder=holder, until=now + length))
    except sa.exc.IntegrityError:
        return False
    return True


def release_lease(database: Database, name: str, holder: str) -> None:
    """Release a lease, if this holder still has it."""
    with database.unscoped() as connection:
        connection.execute(sa.delete(leases).where(leases.c.name == name, leases.c.holder == holder))
        crash.point("lease.freed", "before_commit")
    crash.point("lease.freed", "after_commit")


@contextmanager
def hold_lease(database: Database, name: str, holder: str, length: timedelta) -> Iterator[bool]:
    """Hold a lease during a block and renew it meanwhile; yields False, holding nothing, while another has it."""
    if not acquire_lease(database, name, holder, length):
        yield False
        return

    def renew() -> bool:
        # When the database cannot be reached for a moment, the next beat tries again.
        with suppress(sa.exc.SQLAlchemyError):
            acquire_lease(database, name, holder, length)
        return True

    try:
        with keep_beating(f"lease-{name}", length.total_seconds() / 3, renew):
            yield True
    finally:
        release_lease(database, name, holder)

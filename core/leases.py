"""Named leases: one holder at a time, across processes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.database import Database
from core.process import crash
from core.tables import leases


def acquire_lease(database: Database, name: str, holder: str, length: timedelta) -> bool:
    """Take or renew a lease; False while another holder's is alive."""
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
    # Two that insert at once: the name is the key, and the second one's insert fails with its transaction.
    try:
        with connection.begin_nested():
            connection.execute(sa.insert(leases).values(name=name, holder=holder, until=now + length))
    except sa.exc.IntegrityError:
        return False
    return True


def release_lease(database: Database, name: str, holder: str) -> None:
    """Give a lease back, if it is still ours."""
    with database.unscoped() as connection:
        connection.execute(sa.delete(leases).where(leases.c.name == name, leases.c.holder == holder))
        crash.point("lease.freed", "before_commit")
    crash.point("lease.freed", "after_commit")


@contextmanager
def hold_lease(database: Database, name: str, holder: str, length: timedelta) -> Iterator[bool]:
    """Hold a lease during a block and keep it alive; gives False, with nothing held, while another holder's lives."""
    if not acquire_lease(database, name, holder, length):
        yield False
        return
    done = threading.Event()
    keeper = threading.Thread(
        target=_keep_alive, args=(database, name, holder, length, done), name=f"lease-{name}", daemon=True
    )
    keeper.start()
    try:
        yield True
    finally:
        done.set()
        keeper.join()
        release_lease(database, name, holder)


def _keep_alive(database: Database, name: str, holder: str, length: timedelta, done: threading.Event) -> None:
    while not done.wait(length.total_seconds() / 3):
        try:
            acquire_lease(database, name, holder, length)
        except sa.exc.SQLAlchemyError:
            # A database that is away for a moment: the next beat tries again.
            continue

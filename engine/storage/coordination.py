"""Coordination of engine processes that share a PostgreSQL database: locks on names and notices of free work."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from engine.storage.database import EngineDatabase
from engine.storage.transaction import Transaction

_LOG = logging.getLogger("engine")
_CHANNEL = "engine_work"
_RECONNECT_PAUSE_S = 5.0
# The command NOTIFY cannot be prepared, and statements that run often are.
_NOTIFY = text(f"SELECT pg_notify('{_CHANNEL}', '')")
_LOCK = text("SELECT pg_advisory_xact_lock(hashtext(:name))")


def lock_name(tx: Transaction, name: str) -> None:
    """Hold a lock on `name` until the transaction ends; on SQLite, with its single writer, it does nothing."""
    if tx.connection.dialect.name == "postgresql":
        tx.run(_LOCK, {"name": name})


def notify_others(tx: Transaction) -> None:
    """Make other processes look for due items once this commits; on SQLite there are none and it does nothing."""
    if tx.connection.dialect.name == "postgresql":
        tx.run_later(_NOTIFY)


async def listen_for_work(database: EngineDatabase, on_work: Callable[[], None]) -> None:
    """Call `on_work` for each notice of another process, until cancelled; a lost connection is opened again."""
    failure = database.engine.dialect.loaded_dbapi.Error
    while True:
        try:
            await _listen(database, on_work)
        except (DBAPIError, failure) as error:
            _LOG.warning("cannot listen to other engine processes (%s); trying again", error)
        await asyncio.sleep(_RECONNECT_PAUSE_S)


async def _listen(database: EngineDatabase, on_work: Callable[[], None]) -> None:
    """Listen on one connection and return when it is lost."""
    loop = asyncio.get_running_loop()
    connection = await asyncio.to_thread(database.engine.raw_connection)
    driver: Any = connection.driver_connection
    number = driver.fileno()
    lost = asyncio.Event()
    try:
        driver.set_isolation_level(0)
        with driver.cursor() as cursor:
            cursor.execute(f"LISTEN {_CHANNEL}")
        on_work()

        def read() -> None:
            try:
                driver.poll()
            except database.engine.dialect.loaded_dbapi.Error:
                loop.remove_reader(number)
                lost.set()
                return
            if driver.notifies:
                driver.notifies.clear()
                on_work()

        loop.add_reader(number, read)
        try:
            await lost.wait()
        finally:
            loop.remove_reader(number)
    finally:
        connection.invalidate()

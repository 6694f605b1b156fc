"""Coordination of engine processes that share a PostgreSQL: locks on names, and a notice when work is free."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from engine.statement import Statement
from engine.storage.database import EngineDatabase
from engine.storage.transaction import Transaction

_LOCK = Statement(text("SELECT pg_advisory_xact_lock(hashtext(:name))"))


def lock_name(tx: Transaction, name: str) -> None:
    """Be the only transaction with this name until the end; on SQLite there is never another."""
    if tx.connection.dialect.name == "postgresql":
        tx.run(_LOCK, {"name": name})


_LOG = logging.getLogger("engine")
_CHANNEL = "engine_work"
_PAUSE_S = 5.0
_NOTIFY = Statement(text(f"NOTIFY {_CHANNEL}"))


def notify_others(tx: Transaction) -> None:
    """Once this commits, the others look for due items; nothing on SQLite, which has one process."""
    if tx.connection.dialect.name == "postgresql":
        tx.later(_NOTIFY)


async def listen_for_work(database: EngineDatabase, heard: Callable[[], None]) -> None:
    """Call `heard` whenever another process tells of work, until cancelled; connects again when it must."""
    failure = database.engine.dialect.loaded_dbapi.Error
    while True:
        try:
            await _listen(database, heard)
        except (DBAPIError, failure) as error:
            _LOG.warning("listening to other engines: %s", error)
        await asyncio.sleep(_PAUSE_S)


async def _listen(database: EngineDatabase, heard: Callable[[], None]) -> None:
    """Returns when the connection is lost."""
    loop = asyncio.get_running_loop()
    connection = await asyncio.to_thread(database.engine.raw_connection)
    driver: Any = connection.driver_connection
    number = driver.fileno()
    lost = asyncio.Event()
    try:
        driver.set_isolation_level(0)
        with driver.cursor() as cursor:
            cursor.execute(f"LISTEN {_CHANNEL}")
        heard()

        def read() -> None:
            try:
                driver.poll()
            except database.engine.dialect.loaded_dbapi.Error:
                loop.remove_reader(number)
                lost.set()
                return
            if driver.notifies:
                driver.notifies.clear()
                heard()

        loop.add_reader(number, read)
        try:
            await lost.wait()
        finally:
            loop.remove_reader(number)
    finally:
        connection.invalidate()

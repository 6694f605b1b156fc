"""The thread that makes all changes to the database; operations that arrive together share a commit."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Connection, event
from sqlalchemy.exc import DBAPIError

from engine.formats.clock import MillisecondClock
from engine.formats.ids import Ulids
from engine.runs.delivery import deliver_outbox
from engine.settings import EngineSettings
from engine.storage.database import EngineDatabase
from engine.storage.registry import Registry, load_registry, read_registry_version
from engine.storage.transaction import Transaction

T = TypeVar("T")
Operation = Callable[[Transaction], T]

_LOG = logging.getLogger("engine")
_BATCH_SIZE = 64
_RECONNECT_PAUSE_S = 0.5


@dataclass
class _Work:
    operation: Operation[Any]
    done: asyncio.Future[Any]
    changes_registry: bool


class Writer:
    """Runs operations in the order in which they are submitted, and reports every commit.

    Each operation is atomic: when a batch fails, its operations are tried one by one.

    Args:
        on_commit: called in the event loop with the transactions of a commit, before the futures of `submit` are
            resolved.
    """

    def __init__(
        self,
        database: EngineDatabase,
        clock: MillisecondClock,
        settings: EngineSettings,
        owner: str,
        on_commit: Callable[[list[Transaction]], None],
    ) -> None:
        self._database = database
        self._clock = clock
        self._settings = settings
        self._owner = owner
        self._on_commit = on_commit
        self._ids = Ulids()
        self._work: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._commit_batches, name="engine-writer", daemon=True)
        self._connection: Connection | None = None
        self.registry = Registry(-1, {})

    def start(self) -> None:
        """Connect, load the registry and start the thread; call it in the event loop."""
        self._loop = asyncio.get_running_loop()
        if self._database.is_sqlite:
            event.listen(self._database.engine, "begin", _begin_sqlite)
        self._connect()
        self._thread.start()

    def stop(self) -> None:
        """Finish the submitted operations, then end the thread."""
        self._work.put(None)
        self._thread.join()

    def submit(self, operation: Operation[T], *, changes_registry: bool = False) -> asyncio.Future[T]:
        """Queue an operation; the future has its result once it is committed.

        One that `changes_registry` gets a commit for itself, after which the registry is loaded again.
        """
        assert self._loop is not None
        done: asyncio.Future[T] = self._loop.create_future()
        self._work.put(_Work(operation, done, changes_registry))
        return done

    def _commit_batches(self) -> None:
        while (first := self._work.get()) is not None:
            batch, last = [first], False
            while not first.changes_registry and len(batch) < _BATCH_SIZE:
                try:
                    work = self._work.get_nowait()
                except queue.Empty:
                    break
                if work is None:
                    last = True
                    break
                batch.append(work)
                if work.changes_registry:
                    break
            # An operation that was cancelled before this point is dropped; after it, it is carried out.
            live = [work for work in batch if not work.done.cancelled()]
            if live:
                self._commit(live)
            if last:
                break
        if self._connection is not None:
            self._connection.close()

    def _commit(self, batch: list[_Work]) -> None:
        try:
            finished = self._run_batch(batch)
        except DBAPIError as error:
            if error.connection_invalidated or not self._database.is_sqlite:
                self._reconnect(batch, error)
            else:
                self._commit_singly(batch, error)
        except Exception as error:  # noqa: BLE001 — an operation's error goes to its submitter
            self._commit_singly(batch, error)
        else:
            self._publish(batch, finished)

    def _run_batch(self, batch: list[_Work]) -> list[tuple[Transaction, Any]]:
        assert self._connection is not None
        with self._connection.begin():
            if not self._database.is_sqlite and read_registry_version(self._connection) != self.registry.version:
                self.registry = load_registry(self._connection)
            finished = []
            for work in batch:
                tx = Transaction(
                    self._connection, self._clock.now_ms(), self._owner, self.registry, self._settings, self._ids
                )
                result = work.operation(tx)
                deliver_outbox(tx)
                finished.append((tx, result))
        if any(work.changes_registry for work in batch):
            with self._connection.begin():
                self.registry = load_registry(self._connection)
        return finished

    def _publish(self, batch: list[_Work], finished: list[tuple[Transaction, Any]]) -> None:
        # One call for the whole batch: each call wakes the loop, which then competes with this thread for the
        # interpreter.
        self._call_loop(self._resolve, batch, finished)

    def _resolve(self, batch: list[_Work], finished: list[tuple[Transaction, Any]]) -> None:
        self._on_commit([tx for tx, _ in finished])
        for work, (_, result) in zip(batch, finished, strict=True):
            if not work.done.done():
                work.done.set_result(result)

    def _reject(self, work: _Work, error: Exception) -> None:
        if not work.done.done():
            work.done.set_exception(error)

    def _call_loop(self, callback: Callable[..., None], *arguments: Any) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(callback, *arguments)

    def _commit_singly(self, batch: list[_Work], error: Exception) -> None:
        if len(batch) > 1:
            for work in batch:
                self._commit([work])
        else:
            _LOG.error("an operation failed: %s", error, exc_info=error)
            self._call_loop(self._reject, batch[0], error)

    def _reconnect(self, batch: list[_Work], error: DBAPIError) -> None:
        """Reconnect when the connection is lost, then try each operation of the batch by itself."""
        _LOG.warning("the database failed (%s); trying again", str(error.orig).strip())
        if not error.connection_invalidated and len(batch) == 1 and not _is_transient(error):
            self._call_loop(self._reject, batch[0], error)
            return
        while error.connection_invalidated:
            time.sleep(_RECONNECT_PAUSE_S)
            with contextlib.suppress(DBAPIError):
                self._connect()
                break
        for work in batch:
            self._commit([work])

    def _connect(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = self._database.engine.connect().execution_options(engine_writes=True)
        with self._connection.begin():
            self.registry = load_registry(self._connection)


def _is_transient(error: DBAPIError) -> bool:
    """Whether it is a deadlock or a serialisation failure, after which the same operation may succeed."""
    return getattr(error.orig, "pgcode", None) in {"40001", "40P01"}


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("engine_writes")
    # Directly on the driver, since this runs once per commit.
    connection.connection.cursor().execute("BEGIN IMMEDIATE" if writes else "BEGIN")

"""The dispatcher: starts calls after each commit, commits their answers, and wakes up for due items."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence

from engine.calls.caller import Caller
from engine.event import EngineEvent
from engine.formats.clock import MillisecondClock
from engine.history.trace_export import TraceExport
from engine.ownership import hand_back_items, take_over_items
from engine.runs.answer import record_answer
from engine.runs.schedules import reschedule_function
from engine.runs.timers import shift_waiting, work_off_due
from engine.settings import EngineSettings
from engine.storage.coordination import listen_for_work
from engine.storage.database import EngineDatabase
from engine.storage.queue import postpone_item, read_next_due
from engine.storage.retention import delete_old_rows
from engine.storage.transaction import AppCall, Transaction
from engine.writer import Writer

_LOG = logging.getLogger("engine")
_LONGEST_SLEEP_S = 5.0
_RETRY_AFTER_ERROR_MS = 5_000
_CLOCK_SET_BACK_MS = 60_000
_DELETE_PAUSE_S = 0.2
_DELETE_EVERY_S = 600.0


class Dispatcher:
    """Holds the writer, the timer and the calls in flight.

    Args:
        owner: the id of this process, under which it claims queue items.
    """

    def __init__(
        self,
        database: EngineDatabase,
        clock: MillisecondClock,
        settings: EngineSettings,
        caller: Caller,
        owner: str,
        traces: TraceExport | None = None,
    ) -> None:
        self.database = database
        self._traces = traces
        self.clock = clock
        self.settings = settings
        self.caller = caller
        self.owner = owner
        self.writer = Writer(database, clock, settings, owner, self._handle_commit)
        self._wake = asyncio.Event()
        self._next_due: int | None = None
        self._latest = clock.now_ms()
        self._in_flight: set[asyncio.Task[None]] = set()
        self._background: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Take over the items of dead processes, then start the timer and the background tasks."""
        self.writer.start()
        await self.caller.start()
        await self.writer.submit(self._take_over_items)
        await self.writer.submit(_reschedule_all)
        loops = [self._run_timer(), self._renew_lease(), self._delete_old_periodically()]
        if not self.database.is_sqlite:
            loops.append(listen_for_work(self.database, self.wake))
        self._background = [asyncio.create_task(loop) for loop in loops]
        if self._traces is not None:
            self._traces.start()

    async def stop(self) -> None:
        """Stop all work and hand the claimed items back.

        Calls in flight are dropped: the process that claims their items next makes them again.
        """
        for task in [*self._background, *self._in_flight]:
            task.cancel()
        await asyncio.gather(*self._background, *self._in_flight, return_exceptions=True)
        await self.writer.submit(hand_back_items)
        if self._traces is not None:
            await self._traces.stop()
        await self.caller.stop()
        await asyncio.to_thread(self.writer.stop)

    async def send(self, events: Sequence[EngineEvent]) -> list[AppCall]:
        """Store events, each in one transaction with the runs it starts, and return the calls that follow.

        The caller answers the sender first and passes the calls to `start_calls` afterwards, so that no function runs
        before its sender knows that the event is stored.
        """
        deliveries = [self.writer.submit(_deliver(event)) for event in events]
        results = await asyncio.gather(*deliveries, return_exceptions=True)
        calls = [call for tx in results if isinstance(tx, Transaction) for call in tx.calls]
        failures = [error for error in results if isinstance(error, BaseException)]
        if failures:
            self.start_calls(calls)
            raise failures[0]
        return calls

    def start_calls(self, calls: Sequence[AppCall]) -> None:
        """Make claimed calls, each in a separate task."""
        for call in calls:
            task = asyncio.create_task(self._make_call(call))
            self._in_flight.add(task)
            task.add_done_callback(self._in_flight.discard)

    async def work_off(self) -> None:
        """Work off what is due and wait until apps have answered every call, also those that follow from answers."""
        while True:
            while await self.writer.submit(work_off_due):
                pass
            await asyncio.sleep(0)
            if not self._in_flight:
                return
            await asyncio.gather(*self._in_flight, return_exceptions=True)

    async def delete_old(self) -> None:
        """Delete ended runs and events that are older than the retention time."""
        while await self.writer.submit(delete_old_rows):
            await asyncio.sleep(_DELETE_PAUSE_S)

    async def read_next_due(self) -> int | None:
        """Return the earliest due time in the queue, in milliseconds."""
        return await self.writer.submit(read_next_due)

    def wake(self) -> None:
        """Make the timer look for due items now."""
        self._next_due = self.clock.now_ms()
        self._wake.set()

    def _handle_commit(self, transactions: list[Transaction]) -> None:
        self.start_calls([call for tx in transactions if not tx.held_back for call in tx.calls])
        if self._traces is not None and (ended := [run_id for tx in transactions for run_id in tx.ended]):
            self._traces.add(ended, self.writer.registry)
        due = min((tx.next_due for tx in transactions if tx.next_due is not None), default=None)
        if due is not None and (self._next_due is None or due < self._next_due):
            self._next_due = due
            self._wake.set()

    async def _make_call(self, call: AppCall) -> None:
        function = self.writer.registry.by_id[call.function_id]
        outcome = await self.caller.make_call(call, function)
        try:
            await self.writer.submit(lambda tx: record_answer(tx, call, outcome))
        except Exception:  # noqa: BLE001 — the writer has logged it; the call must not be lost
            await self.writer.submit(lambda tx: postpone_item(tx, call.item_id, tx.now + _RETRY_AFTER_ERROR_MS))

    async def _run_timer(self) -> None:
        while True:
            self._wake.clear()
            wait = _LONGEST_SLEEP_S if self._next_due is None else (self._next_due - self.clock.now_ms()) / 1000
            if wait > 0:
                try:
                    # Not `wait_for`, which swallows a cancellation that arrives together with the wake-up.
                    async with asyncio.timeout(min(wait, _LONGEST_SLEEP_S)):
                        await self._wake.wait()
                except TimeoutError:
                    pass
                else:
                    continue
            self._next_due = None
            try:
                await self._check_clock()
                if await self.writer.submit(work_off_due):
                    self.wake()
            except Exception:  # noqa: BLE001 — the timer must outlive one bad item; the writer has logged it
                await asyncio.sleep(1)

    async def _check_clock(self) -> None:
        """Move waiting items earlier when the machine's clock was set back, or they would wait that much longer.

        Only on SQLite, where this process is alone: with several processes, another machine's clock may be right.
        """
        now = self.clock.now_ms()
        back, self._latest = self._latest - now, now
        if back > _CLOCK_SET_BACK_MS and self.database.is_sqlite:
            _LOG.warning("the clock was set back by %d s: moving waiting items and schedules accordingly", back // 1000)
            await self.writer.submit(lambda tx: shift_waiting(tx, back))

    async def _renew_lease(self) -> None:
        while True:
            await asyncio.sleep(self.settings.lease_ms / 3000)
            if not self.database.is_sqlite:
                await self.writer.submit(self._take_over_items)

    async def _delete_old_periodically(self) -> None:
        while True:
            with contextlib.suppress(Exception):  # the writer has logged it, and the next round tries again
                await self.delete_old()
            await asyncio.sleep(_DELETE_EVERY_S)

    def _take_over_items(self, tx: Transaction) -> None:
        take_over_items(tx, is_sqlite=self.database.is_sqlite)


def _reschedule_all(tx: Transaction) -> None:
    for function in tx.registry.by_id.values():
        reschedule_function(tx, function)
    tx.wake_at(tx.now)


def _deliver(event: EngineEvent) -> Callable[[Transaction], Transaction]:
    def operation(tx: Transaction) -> Transaction:
        tx.outbox.append(event)
        tx.held_back = True
        return tx

    return operation

"""The dispatcher: commits set off calls, their answers are committed, and a timer wakes what is due."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence

from sqlalchemy import bindparam, delete, select, text, update

from engine.calls.caller import Caller
from engine.event import EngineEvent
from engine.formats.clock import MillisecondClock
from engine.history.trace_export import TraceExport
from engine.runs.answer import record_answer
from engine.runs.schedules import reschedule_function
from engine.runs.timers import shift_waiting, work_off_due
from engine.settings import EngineSettings
from engine.storage.coordination import listen_for_work, notify_others
from engine.storage.database import EngineDatabase
from engine.storage.queue import CLAIMED, PARKED, WAITING, postpone_item, read_next_due
from engine.storage.retention import delete_old_rows
from engine.storage.tables import items, owners, slots
from engine.storage.transaction import AppCall, Transaction
from engine.writer import Writer

_LOG = logging.getLogger("engine")
_LONGEST_SLEEP_S = 5.0
_TROUBLE_MS = 5_000
_SET_BACK_MS = 60_000
_TIDY_PAUSE_S = 0.2
_TIDY_EVERY_S = 600.0


class Dispatcher:
    """Owns the writer, the timer and the calls in flight."""

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
        self.writer = Writer(database, clock, settings, owner, self._committed)
        self._wake = asyncio.Event()
        self._next_due: int | None = None
        self._latest = clock.now_ms()
        self._in_flight: set[asyncio.Task[None]] = set()
        self._background: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Take over what dead processes had claimed, then begin to work."""
        self.writer.start()
        await self.caller.start()
        await self.writer.submit(self._take_over)
        await self.writer.submit(_reschedule_all)
        works = [self._run_timer(), self._keep_lease(), self._forget()]
        if not self.database.is_sqlite:
            works.append(listen_for_work(self.database, self.wake))
        self._background = [asyncio.create_task(work) for work in works]
        if self._traces is not None:
            self._traces.start()

    async def stop(self) -> None:
        """Leave calls in flight to the next start: their items stay claimed and are carried out again."""
        for task in [*self._background, *self._in_flight]:
            task.cancel()
        await asyncio.gather(*self._background, *self._in_flight, return_exceptions=True)
        await self.writer.submit(self._hand_back)
        if self._traces is not None:
            await self._traces.stop()
        await self.caller.stop()
        await asyncio.to_thread(self.writer.stop)

    async def send(self, events: Sequence[EngineEvent]) -> list[AppCall]:
        """Store events, each in one transaction with all it sets off.

        Returns the calls that follow, for `go_out`: the sender is to hear that its events are stored before the
        functions run, whose effects it may be about to look for.
        """
        handed_in = [self.writer.submit(_delivering(event)) for event in events]
        done = await asyncio.gather(*handed_in, return_exceptions=True)
        calls = [call for tx in done if isinstance(tx, Transaction) for call in tx.calls]
        failures = [tx for tx in done if isinstance(tx, BaseException)]
        if failures:
            self.go_out(calls)
            raise failures[0]
        return calls

    def go_out(self, calls: Sequence[AppCall]) -> None:
        """Carry out claimed calls, each in a task of its own."""
        for call in calls:
            task = asyncio.create_task(self._carry_out(call))
            self._in_flight.add(task)
            task.add_done_callback(self._in_flight.discard)

    async def work_off(self) -> None:
        """Carry out what is due and wait until the app answered every call, and every call that followed from it."""
        while True:
            while await self.writer.submit(work_off_due):
                pass
            await asyncio.sleep(0)
            if not self._in_flight:
                return
            await asyncio.gather(*self._in_flight, return_exceptions=True)

    async def tidy(self) -> None:
        """Forget all that is older than the retention time."""
        while await self.writer.submit(delete_old_rows):
            await asyncio.sleep(_TIDY_PAUSE_S)

    async def next_due(self) -> int | None:
        """The earliest moment for which something waits."""
        return await self.writer.submit(read_next_due)

    def wake(self) -> None:
        """Look for due items now."""
        self._next_due = self.clock.now_ms()
        self._wake.set()

    def _committed(self, transactions: list[Transaction]) -> None:
        self.go_out([call for tx in transactions if not tx.held_back for call in tx.calls])
        if self._traces is not None and (ended := [run_id for tx in transactions for run_id in tx.ended]):
            self._traces.add(ended, self.writer.registry)
        due = min((tx.next_due for tx in transactions if tx.next_due is not None), default=None)
        if due is not None and (self._next_due is None or due < self._next_due):
            self._next_due = due
            self._wake.set()

    async def _carry_out(self, call: AppCall) -> None:
        function = self.writer.registry.by_id[call.function_id]
        outcome = await self.caller.carry_out(call, function)
        try:
            await self.writer.submit(lambda tx: record_answer(tx, call, outcome))
        except Exception:  # noqa: BLE001 — whatever went wrong (the writer logged it), the call must not be lost
            await self.writer.submit(lambda tx: postpone_item(tx, call.item_id, tx.now + _TROUBLE_MS))

    async def _run_timer(self) -> None:
        while True:
            self._wake.clear()
            wait = _LONGEST_SLEEP_S if self._next_due is None else (self._next_due - self.clock.now_ms()) / 1000
            if wait > 0:
                try:
                    # `wait_for` would swallow the cancellation by which this ends, where it comes as we are woken.
                    async with asyncio.timeout(min(wait, _LONGEST_SLEEP_S)):
                        await self._wake.wait()
                except TimeoutError:
                    pass
                else:
                    continue
            self._next_due = None
            try:
                await self._heed_clock()
                if await self.writer.submit(work_off_due):
                    self.wake()
            except Exception:  # noqa: BLE001 — the timer must outlive one bad item; the writer has logged it
                await asyncio.sleep(1)

    async def _heed_clock(self) -> None:
        """Without this what was planned while the clock was ahead would wait until it is there again.

        Only where nobody else works on the queue: on another machine the clock may have been right all the time.
        """
        now = self.clock.now_ms()
        back, self._latest = self._latest - now, now
        if back > _SET_BACK_MS and self.database.is_sqlite:
            _LOG.warning("the clock was set back by %d s: what waits is planned anew", back // 1000)
            await self.writer.submit(lambda tx: shift_waiting(tx, back))

    async def _keep_lease(self) -> None:
        while True:
            await asyncio.sleep(self.settings.lease_ms / 3000)
            if not self.database.is_sqlite:
                await self.writer.submit(self._take_over)

    async def _forget(self) -> None:
        while True:
            with contextlib.suppress(Exception):  # it is tried again, and the writer has logged it
                await self.tidy()
            await asyncio.sleep(_TIDY_EVERY_S)

    def _take_over(self, tx: Transaction) -> None:
        """Renew the lease; free the items of owners that are gone: on SQLite all others, else those without a lease."""
        lease = tx.now + tx.settings.lease_ms
        tx.run(
            text(
                "INSERT INTO engine_owners (id, lease_until) VALUES (:owner, :lease) "
                "ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until"
            ),
            {"owner": self.owner, "lease": lease},
        )
        others = select(owners.c.id).where(owners.c.id != self.owner)
        if not self.database.is_sqlite:
            others = others.where(owners.c.lease_until < tx.now)
        for row in tx.run(others).all():
            _free_owner(tx, row.id)
        if self.database.is_sqlite:
            # Nobody else holds a slot: let everything that waits for one look again.
            tx.run(_UNPARK_ALL)

    def _hand_back(self, tx: Transaction) -> None:
        _free_owner(tx, self.owner)


_FREE_SLOTS = delete(slots).where(
    slots.c.item_id.in_(select(items.c.id).where(items.c.owner == bindparam("gone"), items.c.state == CLAIMED))
)
_FREE_ITEMS = update(items).where(items.c.owner == bindparam("gone")).values(owner=None, state=WAITING)
_UNPARK_ALL = update(items).where(items.c.state == PARKED).values(state=WAITING, blocked_on=None)
_DROP_OWNER = delete(owners).where(owners.c.id == bindparam("gone"))


def _free_owner(tx: Transaction, owner: str) -> None:
    tx.run(_FREE_SLOTS, {"gone": owner})
    tx.run(_FREE_ITEMS, {"gone": owner})
    tx.run(_DROP_OWNER, {"gone": owner})
    tx.due(tx.now)
    notify_others(tx)


def _reschedule_all(tx: Transaction) -> None:
    for function in tx.registry.by_id.values():
        reschedule_function(tx, function)
    tx.due(tx.now)


def _delivering(event: EngineEvent) -> Callable[[Transaction], Transaction]:
    def hand_in(tx: Transaction) -> Transaction:
        tx.outbox.append(event)
        tx.held_back = True
        return tx

    return hand_in

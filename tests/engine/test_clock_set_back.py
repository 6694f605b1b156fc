"""A machine's clock that was ahead when the engine started, and is put right while it works."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from engine.calls.caller import Caller, CallKeys
from engine.dispatcher import Dispatcher
from engine.registration.sync import sync_app
from engine.runs.timers import work_off_due
from engine.settings import EngineSettings
from engine.storage.database import EngineDatabase
from engine.storage.queue import CRON, SLEEP, QueueItem, put_item
from engine.storage.tables import items, runs
from engine.storage.transaction import Transaction

HOUR = 3_600_000
MINUTE = 60_000


class SetClock:
    """The machine's clock, as somebody sets it."""

    def __init__(self) -> None:
        self.ahead = 0

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000 + self.ahead


@asynccontextmanager
async def working(database: EngineDatabase, clock: SetClock) -> AsyncIterator[Dispatcher]:
    settings = EngineSettings()
    core = Dispatcher(database, clock, settings, Caller(clock, settings, CallKeys(())), owner="this")
    await core.start()
    try:
        yield core
    finally:
        await core.stop()


def scheduled(*crons: str) -> dict[str, Any]:
    runtime = {"type": "http", "url": "http://127.0.0.1:9/"}
    step = {"step": {"id": "step", "name": "step", "runtime": runtime}}
    triggers = [{"cron": cron} for cron in crons]
    return {"appname": "app", "functions": [{"id": "app-fn", "name": "fn", "triggers": triggers, "steps": step}]}


def due(tx: Transaction) -> dict[str, int]:
    """When what waits is due, by its kind."""
    return {row.kind: row.due_at for row in tx.run(select(items).where(items.c.kind.in_([CRON, SLEEP])))}


async def until_due_before(core: Dispatcher, moment: int) -> dict[str, int]:
    for _ in range(200):
        core.wake()
        found = await core.writer.submit(due)
        if max(found.values()) < moment:
            return found
        await asyncio.sleep(0.05)
    raise AssertionError(f"due {found}, {moment - max(found.values())} ms too late")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[EngineDatabase]:
    made = EngineDatabase(f"sqlite:///{tmp_path / 'engine.db'}")
    made.create_tables()
    yield made
    made.close()


def test_what_waits_does_not_wait_for_the_wrong_hour(database: EngineDatabase) -> None:
    async def story() -> None:
        clock = SetClock()
        clock.ahead = 2 * HOUR
        async with working(database, clock) as core:
            # Given a schedule of every minute and a sleep of a minute, begun while the clock is two hours ahead
            await core.writer.submit(lambda tx: sync_app(tx, scheduled("* * * * *")), changes_registry=True)
            await core.writer.submit(
                lambda tx: put_item(tx, QueueItem(SLEEP, tx.now + MINUTE, run_id="nobody", step_id="nap"))
            )
            core.wake()
            before = await core.writer.submit(due)
            assert min(before.values()) > time.time() * 1000 + HOUR
            # When it is put right, then both are due within a minute of the right time
            clock.ahead = 0
            after = await until_due_before(core, clock.now_ms() + MINUTE + 5_000)
            assert set(after) == {CRON, SLEEP}

    asyncio.run(story())


def test_a_tick_that_ran_while_the_clock_was_ahead_does_not_run_again(database: EngineDatabase) -> None:
    async def story() -> None:
        clock = SetClock()
        # Given a tick that ran too early, since the clock was ten minutes ahead
        async with working(database, clock) as core:
            minute = time.gmtime(time.time() + 2 * 60)
            daily = f"{minute.tm_min} {minute.tm_hour} * * *"
            await core.writer.submit(lambda tx: sync_app(tx, scheduled(daily)), changes_registry=True)
            clock.ahead = 10 * MINUTE
            assert await started(core) == 1
            # When it is put right, and comes to that moment again
            clock.ahead = 0
            await until_due_before(core, clock.now_ms() + 3 * MINUTE)
            clock.ahead = 10 * MINUTE
            # Then it began once
            assert await started(core) == 1

    asyncio.run(story())


async def started(core: Dispatcher) -> int:
    """How many runs began by now."""
    while await core.writer.submit(work_off_due):
        pass
    return await core.writer.submit(lambda tx: len(tx.run(select(runs.c.id)).all()))

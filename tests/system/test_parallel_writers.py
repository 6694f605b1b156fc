"""Eight processes write while one holds a long transaction and a backup runs: what was reported stored is there."""

from __future__ import annotations

import multiprocessing
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa

from app.backup.archive import write_backup
from app.bootstrap import ensure_home
from app.schema_upgrade import upgrade_schema
from core.database import Database
from core.settings import load_settings
from runtime.inbox import inbox, messages
from runtime.tables import inbox as inbox_rows
from runtime.tables import messages as message_rows
from tests.engine.engine_process import EngineProcess
from tests.runtime.turn_driver import new_task, post_words
from tests.support.databases import START, Store
from tests.support.waiting import until

PROCESSES = 8
SECONDS = 20.0
HELD_SECONDS = 3.0


def _write(url: str, task_id: str, events_url: str) -> tuple[int, int, list[str]]:
    """One process: messages with their inbox rows, and events; how many were reported stored, and what went wrong."""
    stored = sent = 0
    failures: list[str] = []
    store = Store(url)
    end = time.monotonic() + SECONDS
    with httpx.Client(timeout=60) as http:
        while time.monotonic() < end:
            try:
                post_words(store, task_id, f"number {stored}")
                stored += 1
            except sa.exc.SQLAlchemyError as error:
                failures.append(str(error))
            answer = http.post(events_url, json={"name": "writers/written", "data": {"n": stored}})
            if answer.status_code == 200:
                sent += 1
            else:
                failures.append(answer.text)
    store.database.close()
    return stored, sent, failures


def _hold(url: str, store: Store, task_id: str) -> None:
    """Read, wait three seconds, then write, in one transaction: what a plain BEGIN fails at."""
    database = Database(url, clock=store.clock, bells=store.bells)
    with database.transaction(store.workspace_id) as scope:
        inbox.list_unread(scope, task_id)
        time.sleep(HELD_SECONDS)
        messages.receive_message(
            scope, person_id=store.person_id, asked_by="person", channel_id=None, text="held", to_task_id=task_id
        )
    database.close()


@pytest.mark.case("B53")
@pytest.mark.load
def test_every_reported_write_is_stored_and_none_meets_a_lock(tmp_path: Path) -> None:
    # Given a home, an engine and a task
    home = tmp_path / "home"
    settings = load_settings(home=home)
    home.mkdir(exist_ok=True)
    revision = upgrade_schema(settings)
    ensure_home(settings)
    store = Store(settings.sql_url)
    task_id = new_task(store).id
    engine = EngineProcess(f"sqlite:///{tmp_path / 'engine.db'}").start()
    try:
        # When eight processes write for a while, one transaction is held for three seconds, and a backup is made
        with ProcessPoolExecutor(PROCESSES, multiprocessing.get_context("spawn")) as pool:
            arguments = (settings.sql_url, task_id, f"{engine.url}/e/test")
            writers = [pool.submit(_write, *arguments) for _ in range(PROCESSES)]
            until("the first rows", lambda: _rows(store, inbox_rows), 120)
            holder = threading.Thread(target=_hold, args=(settings.sql_url, store, task_id))
            holder.start()
            write_backup(home, settings.sql_url, revision, tmp_path / "home.backup", START)
            holder.join()
            told = [writer.result(SECONDS * 6) for writer in writers]
        # Then nobody met a lock, and there is a row for every success and no other
        assert [failures for _, _, failures in told] == [[]] * PROCESSES
        stored = sum(count for count, _, _ in told)
        assert stored > 0
        assert _rows(store, inbox_rows) == stored
        assert _rows(store, message_rows) == stored + 1
        assert _events_of(engine) == sum(count for _, count, _ in told)
    finally:
        engine.close()
        store.database.close()


def _rows(store: Store, table: sa.Table) -> int:
    with store.database.reading_unscoped() as connection:
        return int(connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one())


def _events_of(engine: EngineProcess) -> int:
    found, cursor = 0, ""
    while True:
        page = engine.get(f"/v1/events?name=writers/written&limit=100{cursor}")["data"]
        found += len(page)
        if not page:
            return found
        cursor = f"&cursor={page[-1]['internal_id']}"

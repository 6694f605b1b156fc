"""A pass of the watch: over every workspace, by one watcher, whatever the database does meanwhile."""

from __future__ import annotations

import logging
import threading
from datetime import timedelta

import pytest
import sqlalchemy as sa

from core import leases
from core.tables import leases as lease_rows
from functions.watch import run_pass
from tests.support.databases import Store

LENGTH = timedelta(seconds=0.6)


def _rename(store: Store, table: str, to: str) -> None:
    with store.database.unscoped() as connection:
        connection.execute(sa.text(f"alter table {table} rename to {to}"))


def _until(store: Store) -> object:
    with store.database.reading_unscoped() as connection:
        return connection.execute(sa.select(lease_rows.c.until).where(lease_rows.c.name == "watch")).scalar()


@pytest.mark.parametrize("away", ["leases", "workspaces"])
def test_pass_that_meets_no_database_fails_alone_and_the_next_one_looks(
    store: Store, away: str, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[str] = []

    def look(workspace_id: str) -> int:
        seen.append(workspace_id)
        return 0

    _rename(store, away, "elsewhere")
    try:
        with caplog.at_level(logging.ERROR):
            assert run_pass(store.database, "run-1", LENGTH, (look,)) is False
    finally:
        _rename(store, "elsewhere", away)

    assert "a pass failed at the database" in caplog.text
    assert seen == []
    assert run_pass(store.database, "run-1", LENGTH, (look,))
    assert store.workspace_id in seen


def test_lease_is_renewed_while_a_pass_takes_long(store: Store) -> None:
    entered: list[bool] = []

    def look(_workspace_id: str) -> int:
        for _ in range(2):
            store.clock.advance(timedelta(seconds=0.5))
            for _ in range(400):
                if _until(store) == store.clock.now() + LENGTH:
                    break
                threading.Event().wait(0.05)
            entered.append(leases.acquire_lease(store.database, "watch", "run-2", LENGTH))
        return 0

    assert run_pass(store.database, "run-1", LENGTH, (look,))

    assert set(entered) == {False}
    assert run_pass(store.database, "run-2", LENGTH, ()) is False


def test_watcher_whose_lease_another_has_taken_looks_no_further(store: Store) -> None:
    seen: list[str] = []

    def stall(_workspace_id: str) -> int:
        seen.append("stalled")
        store.clock.advance(LENGTH * 2)
        assert leases.acquire_lease(store.database, "watch", "run-2", timedelta(hours=1))
        threading.Event().wait(1.5)
        return 0

    def look(_workspace_id: str) -> int:
        seen.append("looked")
        return 0

    assert run_pass(store.database, "run-1", LENGTH, (stall, look)) is False
    assert seen == ["stalled"]


def test_watcher_that_hangs_leaves_its_place_to_another(store: Store) -> None:
    seen: list[str] = []

    def hang(_workspace_id: str) -> int:
        for _ in range(400):
            # As long as the lease is renewed, it is whole again by the next look at it.
            store.clock.advance(LENGTH / 2)
            if leases.acquire_lease(store.database, "watch", "run-2", LENGTH * 9):
                seen.append("another came")
                break
            threading.Event().wait(0.25)
        return 0

    def look(_workspace_id: str) -> int:
        seen.append("looked")
        return 0

    assert run_pass(store.database, "run-1", LENGTH, (hang, look), LENGTH * 2) is False
    assert seen == ["another came"]

"""A migrated database with one workspace, on SQLite or PostgreSQL, emptied by DELETE between tests."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path

import pytest
import sqlalchemy as sa

from app.bootstrap import PERSON_ID, WORKSPACE_ID
from app.schema import all_tables
from core.clock import Clock, StoppedClock
from core.database import Database
from core.events import Bell
from core.tables import persons, roles, workspaces
from runtime.tables import budgets, entries
from tests.support.empty_database import lay_every_table

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


class RungBells:
    """Keep the events instead of sending them: these tests have no engine."""

    def __init__(self) -> None:
        self.rung: list[Bell] = []

    def ring(self, bell: Bell) -> None:
        self.rung.append(bell)

    def ids(self) -> list[str]:
        return [bell.id for bell in self.rung]


class Store:
    """A database under test with its clock and its bells."""

    def __init__(self, url: str) -> None:
        self.clock = StoppedClock(START)
        self.bells = RungBells()
        self.database = Database(url, clock=self.clock, bells=self.bells)
        self.workspace_id = WORKSPACE_ID
        self.person_id = PERSON_ID

    def fill(self) -> None:
        """One workspace with one person and money."""
        now = self.clock.now()
        with self.database.unscoped() as connection:
            add = connection.execute
            add(sa.insert(workspaces).values(id=WORKSPACE_ID, name="W", timezone="UTC", change_seq=0, created_at=now))
            add(sa.insert(persons).values(id=PERSON_ID, name="P", created_at=now))
            add(sa.insert(roles).values(workspace_id=WORKSPACE_ID, person_id=PERSON_ID, role="owner"))
            limits = {"free_per_operation": Decimal("0.30"), "free_per_day": Decimal(2)}
            sums = {"balance": Decimal(100), "reserved": Decimal(0)}
            add(sa.insert(budgets).values(workspace_id=WORKSPACE_ID, currency="USD", **limits, **sums))
            grant = {"id": "entry_0", "kind": "grant", "amount": Decimal(100), "currency": "USD", "cause": "opening"}
            add(sa.insert(entries).values(workspace_id=WORKSPACE_ID, at=now, **grant))

    def empty(self) -> None:
        _empty(self.database)


def prepared(url: str) -> Store:
    """Return a store with every table and one workspace on a server, whatever was in it before."""
    _lay_tables(url)
    store = Store(url)
    store.empty()
    store.fill()
    return store


def prepared_file(path: Path) -> Store:
    """Return a store in a new SQLite file."""
    lay_every_table(path)
    store = Store(f"sqlite:///{path}")
    store.fill()
    return store


def every_table(request: pytest.FixtureRequest, path: Path, clock: Clock) -> Database:
    """Return the database that the fixture's parameter names, with every table and no row; SQLite is at `path`."""
    if request.param == "sqlite":
        lay_every_table(path)
        return Database(f"sqlite:///{path}", clock=clock)
    url = str(request.getfixturevalue("postgres_url"))
    _lay_tables(url)
    database = Database(url, clock=clock)
    _empty(database)
    return database


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """Run the test on both databases; on PostgreSQL only where its tests are selected."""
    if request.param == "sqlite":
        ready = prepared_file(tmp_path / "test.sqlite")
    else:
        ready = prepared(request.getfixturevalue("postgres_url"))
    yield ready
    ready.database.close()


@cache
def _lay_tables(url: str) -> None:
    engine = sa.create_engine(url)
    all_tables().create_all(engine)
    engine.dispose()


def _empty(database: Database) -> None:
    with database.unscoped() as connection:
        for table in reversed(all_tables().sorted_tables):
            connection.execute(sa.delete(table))

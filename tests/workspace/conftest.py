"""Real databases with two workspaces in them, and a store of bytes beside them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa

import runtime.tables
import workspace.tables
from core.clock import StoppedClock
from core.database import Database
from core.tables import metadata, workspaces
from workspace.assets import Assets

HOME = "workspace_1"
OTHER = "workspace_2"


def prepare(database: Database, clock: StoppedClock) -> None:
    assert workspace.tables.objects.metadata is runtime.tables.cards.metadata is metadata
    with database.unscoped() as connection:
        metadata.create_all(connection)
        for table in reversed(metadata.sorted_tables):
            connection.execute(sa.delete(table))
        for name in (HOME, OTHER):
            connection.execute(
                sa.insert(workspaces).values(id=name, name=name, timezone="UTC", change_seq=0, created_at=clock.now())
            )


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock(datetime(2026, 7, 1, 12, tzinfo=UTC))


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database(request: pytest.FixtureRequest, tmp_path: Path, clock: StoppedClock) -> Iterator[Database]:
    if request.param == "postgres":
        url = str(request.getfixturevalue("postgres_url"))
    else:
        url = f"sqlite:///{tmp_path / 'loopwright.sqlite'}"
    database = Database(url, clock=clock)
    prepare(database, clock)
    yield database
    database.close()


@pytest.fixture
def assets(tmp_path: Path) -> Assets:
    return Assets(f"file://{tmp_path / 'assets'}")

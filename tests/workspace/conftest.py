"""Real databases with two workspaces in them, and a store of bytes beside them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa

from core.clock import StoppedClock
from core.database import Database
from core.tables import workspaces
from tests.support.databases import every_table
from workspace.assets import Assets

HOME = "workspace_1"
OTHER = "workspace_2"


def prepare(database: Database, clock: StoppedClock) -> None:
    with database.unscoped() as connection:
        for name in (HOME, OTHER):
            connection.execute(
                sa.insert(workspaces).values(id=name, name=name, timezone="UTC", change_seq=0, created_at=clock.now())
            )


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock(datetime(2026, 7, 1, 12, tzinfo=UTC))


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database(request: pytest.FixtureRequest, tmp_path: Path, clock: StoppedClock) -> Iterator[Database]:
    database = every_table(request, tmp_path / "loopwright.sqlite", clock)
    prepare(database, clock)
    yield database
    database.close()


@pytest.fixture
def assets(tmp_path: Path) -> Assets:
    return Assets(f"file://{tmp_path / 'assets'}")

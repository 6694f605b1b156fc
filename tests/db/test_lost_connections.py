"""Connections that the server has closed while they rested."""

from __future__ import annotations

import time

import pytest
import sqlalchemy as sa

from core.database import Database


@pytest.mark.postgres
def test_connection_that_was_closed_while_it_rested_is_replaced(postgres_url: str) -> None:
    database = Database(postgres_url)
    assert database.workspace_ids() is not None
    server = sa.create_engine(postgres_url)
    with server.connect() as connection:
        others = "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = "
        assert connection.execute(sa.text(others + "current_database()")).all()
    time.sleep(1.1)

    assert database.workspace_ids() is not None
    with database.unscoped() as connection:
        assert connection.execute(sa.text("select 1")).scalar() == 1
    database.close()
    server.dispose()

"""Connections that the server has closed while they rested."""

from __future__ import annotations

import time

import pytest
import sqlalchemy as sa

from core.database import Database


def _answers(database: Database) -> bool:
    with database.unscoped() as connection:
        written = connection.execute(sa.text("select 1")).scalar()
    with database.reading_unscoped() as connection:
        return (written, connection.execute(sa.text("select 1")).scalar()) == (1, 1)


@pytest.mark.postgres
def test_connection_that_was_closed_while_it_rested_is_replaced(postgres_url: str) -> None:
    database = Database(postgres_url)
    assert _answers(database)
    server = sa.create_engine(postgres_url)
    with server.connect() as connection:
        others = "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = "
        assert connection.execute(sa.text(others + "current_database()")).all()
    time.sleep(1.1)

    assert _answers(database)
    database.close()
    server.dispose()

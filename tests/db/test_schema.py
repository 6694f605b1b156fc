"""Migrations build what the tables say, on both databases, and a wrong schema is refused."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from app.schema import SchemaError, all_tables, check_schema, head_revision
from app.schema_upgrade import upgrade_schema
from core.database import Database
from core.settings import Settings, load_settings


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    if request.param == "sqlite":
        return load_settings(home=tmp_path / "home")
    url: str = request.getfixturevalue("postgres_url")
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text("drop schema public cascade"))
        connection.execute(sa.text("create schema public"))
    engine.dispose()
    return load_settings(home=tmp_path / "home", database_url=url.replace("postgresql+psycopg2", "postgresql"))


def test_migrations_and_tables_build_the_same_database(settings: Settings) -> None:
    upgrade_schema(settings)

    database = Database(settings.sql_url)
    with database.unscoped() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        differences = compare_metadata(context, all_tables())
    database.close()

    assert differences == []


def test_migrating_twice_and_at_once_changes_nothing(settings: Settings) -> None:
    with ThreadPoolExecutor(4) as pool:
        reached = list(pool.map(lambda _n: upgrade_schema(settings), range(4)))

    assert reached == [head_revision()] * 4
    assert upgrade_schema(settings) == head_revision()


@pytest.mark.parametrize(("at", "says"), [("9999", "install the newer release"), ("0000", "loopwright migrate")])
def test_wrong_schema_is_refused_with_the_command_that_helps(settings: Settings, at: str, says: str) -> None:
    upgrade_schema(settings)
    database = Database(settings.sql_url)
    with database.unscoped() as connection:
        connection.execute(sa.text("update alembic_version set version_num = :at"), {"at": at})

    with pytest.raises(SchemaError, match=says):
        check_schema(database)
    database.close()


def test_database_that_only_says_it_is_of_this_schema_is_refused(settings: Settings) -> None:
    upgrade_schema(settings)
    database = Database(settings.sql_url)
    check_schema(database)
    with database.unscoped() as connection:
        connection.execute(sa.text("alter table notices rename column text to words"))

    with pytest.raises(SchemaError, match=r"lacks notices\.text: .* Begin a new home"):
        check_schema(database)
    database.close()


def test_empty_database_is_refused_before_it_is_migrated(settings: Settings) -> None:
    settings.home.mkdir(parents=True)
    database = Database(settings.sql_url)

    with pytest.raises(SchemaError, match="loopwright migrate"):
        check_schema(database)
    database.close()

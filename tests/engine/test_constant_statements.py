"""The engine's constant statements on PostgreSQL, whose sessions prepare what runs often."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

import engine
from core.sql.compiled import ConstantStatement, run_statement
from core.sql.session_statements import SessionStatement
from engine.storage import coordination
from engine.storage.database import EngineDatabase
from tests.engine.waiting import eventually

pytestmark = pytest.mark.postgres

_RUNS = 6
"""More than a statement runs before it is prepared."""


@pytest.fixture
def database(postgres_url: str) -> Iterator[EngineDatabase]:
    database = EngineDatabase(postgres_url)
    database.create_tables()
    yield database
    database.close()


def _constants() -> Iterator[tuple[str, ConstantStatement]]:
    kinds = (sa.Select, sa.Insert, sa.Update, sa.Delete, sa.TextClause)
    for module in pkgutil.walk_packages(engine.__path__, "engine."):
        if module.name in ("engine.__main__", "engine.storage.tables"):  # no module to import; conditions of indexes
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, kinds):
                yield f"{module.name}.{name}", value


def test_postgresql_can_prepare_every_constant(database: EngineDatabase) -> None:
    constants = dict(_constants())
    assert len(constants) > 40
    with database.engine.connect() as connection:
        cursor = connection.connection.cursor()
        for name, statement in constants.items():
            columns = [column.name for column in statement.table.columns] if isinstance(statement, sa.Insert) else None
            sql = str(statement.compile(dialect=connection.dialect, column_keys=columns))
            kept, session = SessionStatement(sql), dict[object, object]()
            texts = [kept.text(cursor, session) for _ in range(_RUNS)]
            assert (texts[0], texts[-1].split()[0]) == (sql, "EXECUTE"), name


def test_each_notice_to_other_processes_arrives(database: EngineDatabase) -> None:
    with database.engine.connect() as listener, database.engine.connect() as connection:
        listener.exec_driver_sql("LISTEN engine_work")
        listener.commit()
        for _ in range(_RUNS):
            with connection.begin():
                run_statement(connection, coordination._NOTIFY, {}, later=True)
        driver = listener.connection.driver_connection
        assert driver is not None
        eventually(lambda: driver.poll() or len(driver.notifies) == _RUNS)

"""Statements handed straight to the driver give the values, rows and errors that SQLAlchemy gives."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
import sqlalchemy as sa

from core.sql import statements
from core.sql.compiled import run_statement
from core.sql.session_statements import SessionStatement
from core.tables import changes
from runtime.tables import notices, tasks
from tests.runtime import turn_driver
from tests.support.databases import Store

_BY_ID = statements.select(tasks).where(tasks.c.id == sa.bindparam("task"))
_NEWEST = statements.select(tasks.c.id, tasks.c.plan_kinds).order_by(tasks.c.id.desc()).limit(sa.bindparam("most"))


def test_row_is_the_same_as_from_sqlalchemy(store: Store) -> None:
    mine = turn_driver.new_task(store)
    with store.database.reading(store.workspace_id) as scope:
        straight = scope.first(_BY_ID, task=mine.id)
        usual = scope.first(scope.select(tasks).where(tasks.c.id == mine.id))
        listed = scope.rows(_NEWEST, most=1)
    assert straight is not None
    assert usual is not None
    assert dict(straight._mapping) == dict(usual._mapping)
    assert straight.created_at.tzinfo is not None
    assert [(row.id, row.plan_kinds) for row in listed] == [(mine.id, [])]


def test_listener_sees_the_statement(store: Store) -> None:
    mine = turn_driver.new_task(store)
    with store.database.reading(store.workspace_id) as scope:
        scope.first(_BY_ID, task=mine.id)
        with turn_driver.recorded_statements() as ran:
            scope.first(_BY_ID, task=mine.id)
        assert len(ran) == 1
        assert scope.first(_BY_ID, task=mine.id) is not None


def test_broken_rule_raises_sqlalchemys_error_and_undoes_the_transaction(store: Store) -> None:
    row = {"seq": 1_000, "kind": "task", "id": "a", "at": store.clock.now()}

    def twice() -> None:
        with store.database.transaction(store.workspace_id) as scope:
            scope.insert(changes, **row)
            scope.insert(changes, **row)

    with pytest.raises(sa.exc.IntegrityError):
        twice()
    with store.database.reading(store.workspace_id) as scope:
        assert scope.rows(scope.select(changes).where(changes.c.seq == row["seq"])) == []


def test_naive_time_is_refused(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope, pytest.raises(ValueError, match="zone"):
        scope.insert(changes, seq=1, kind="task", id="a", at=datetime(2026, 1, 1))  # noqa: DTZ001


def test_inserts_of_one_table_may_name_other_columns(store: Store) -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    always = {"audience": "ops", "channel": "mail", "text": "t", "attempts": 0, "created_at": at}
    with store.database.transaction(store.workspace_id) as scope:
        scope.insert(notices, id="n0", cause="c0", **always)
        scope.insert(notices, id="n1", cause="c1", task_id="task", **always)
        scope.insert(notices, id="n2", cause="c2", sent_at=at, **always)
        scope.insert(notices, id="n3", cause="c3", **always)
        found = scope.rows(scope.select(notices).order_by(notices.c.id))
    assert [(row.task_id, row.sent_at) for row in found] == [(None, None), ("task", None), (None, at), (None, None)]


def test_list_of_values_may_have_another_length_at_each_run(store: Store) -> None:
    ids = [turn_driver.new_task(store).id for _ in range(3)]
    some = statements.select(tasks.c.id).where(tasks.c.id.in_(sa.bindparam("ids", expanding=True)))
    with store.database.unscoped() as connection:
        for asked in (ids, ids[:1], []):
            values = {"ids": asked, statements.WORKSPACE: store.workspace_id}
            assert sorted(row.id for row in run_statement(connection, some, values).all()) == sorted(asked)


def test_session_that_lost_its_statements_fails_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind a pooler the next transaction may get another session, which has none of the prepared statements."""
    if store.database.url.startswith("sqlite"):
        pytest.skip("only PostgreSQL keeps statements")
    monkeypatch.setattr(SessionStatement, "_kept", True)
    mine = turn_driver.new_task(store)
    with store.database.transaction(store.workspace_id) as scope:
        for _ in range(6):
            scope.first(_BY_ID, task=mine.id)

    def elsewhere() -> None:
        with store.database.transaction(store.workspace_id) as scope:
            scope._connection.exec_driver_sql("DEALLOCATE ALL")
            scope.first(_BY_ID, task=mine.id)

    with pytest.raises(sa.exc.DBAPIError, match="does not exist"):
        elsewhere()
    with store.database.transaction(store.workspace_id) as scope:
        assert [scope.first(_BY_ID, task=mine.id) is not None for _ in range(6)] == [True] * 6

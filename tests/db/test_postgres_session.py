"""BEGIN goes to PostgreSQL with the first statement, and a statement run `later` with the next one or with COMMIT."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest
import sqlalchemy as sa

from core.database import Scope
from core.tables import changes
from tests.support.databases import Store, prepared

pytestmark = pytest.mark.postgres

_IDLE = "select state, query from pg_stat_activity where datname = current_database() and pid = :pid"
_PID = sa.text("select pg_backend_pid()")
_ROW = {"kind": "task", "id": "a"}


@pytest.fixture
def store(postgres_url: str) -> Iterator[Store]:
    made = prepared(postgres_url)
    yield made
    made.database.close()


@pytest.fixture
def observer(store: Store) -> Iterator[sa.Connection]:
    """A session that sees each commit at once, of the driver's usual kind."""
    engine = sa.create_engine(store.database.url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        yield connection
    engine.dispose()


def _insert(scope: Scope, seq: int) -> None:
    scope.insert(changes, seq=seq, at=scope.now, **_ROW)


def _stored(store: Store, seq: int) -> bool:
    with store.database.reading(store.workspace_id) as scope:
        return bool(scope.rows(scope.select(changes.c.seq).where(changes.c.seq == seq)))


def test_transaction_begins_with_its_first_statement(store: Store, observer: sa.Connection) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        pid = scope._connection.execute(_PID).scalar()
        state, query = observer.execute(sa.text(_IDLE), {"pid": pid}).one()
    assert state == "idle in transaction"
    assert query == "BEGIN ISOLATION LEVEL READ COMMITTED; select pg_backend_pid()"


def test_row_that_nobody_waits_for_goes_with_the_commit(store: Store, observer: sa.Connection) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        pid = scope._connection.execute(_PID).scalar()
        _insert(scope, 1_000)
        _, before = observer.execute(sa.text(_IDLE), {"pid": pid}).one()
    _, after = observer.execute(sa.text(_IDLE), {"pid": pid}).one()
    assert "INSERT" not in before
    assert after.startswith("INSERT INTO changes")
    assert after.endswith("; COMMIT")
    assert _stored(store, 1_000)


def test_own_rows_are_seen_by_the_next_statement(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        _insert(scope, 1_000)
        assert scope.rows(scope.select(changes.c.seq).where(changes.c.seq == 1_000))


def test_row_refused_with_the_commit_undoes_the_transaction(store: Store) -> None:
    def twice() -> None:
        with store.database.transaction(store.workspace_id) as scope:
            _insert(scope, 1_000)
            _insert(scope, 1_001)
            _insert(scope, 1_001)

    for _ in range(2):
        with pytest.raises(sa.exc.IntegrityError, match="unique"):
            twice()
    assert not _stored(store, 1_000)
    with store.database.transaction(store.workspace_id) as scope:
        _insert(scope, 1_000)
    assert _stored(store, 1_000)


def test_transaction_with_a_failure_that_was_swallowed_is_no_success(store: Store) -> None:
    """PostgreSQL answers its COMMIT as if nothing were wrong, and has undone all."""

    def swallowed() -> None:
        with store.database.transaction(store.workspace_id) as scope:
            _insert(scope, 1_000)
            with suppress(sa.exc.ProgrammingError):
                scope._connection.execute(sa.text("select nothing from nowhere"))

    with pytest.raises(sa.exc.DBAPIError, match="had failed"):
        swallowed()
    assert not _stored(store, 1_000)


def test_nothing_of_a_block_that_failed_is_sent_later(store: Store) -> None:
    def broken() -> None:
        with store.database.transaction(store.workspace_id) as scope:
            _insert(scope, 1_000)
            raise KeyError("ours")

    with pytest.raises(KeyError):
        broken()
    with store.database.transaction(store.workspace_id) as scope:
        _insert(scope, 1_001)
    assert (_stored(store, 1_000), _stored(store, 1_001)) == (False, True)


def test_reading_sees_one_state(store: Store) -> None:
    query = sa.select(sa.func.count()).select_from(changes)
    with store.database.reading(store.workspace_id) as reading:
        before = reading._connection.execute(query).scalar()
        with store.database.transaction(store.workspace_id) as scope:
            _insert(scope, 1_000)
        assert reading._connection.execute(query).scalar() == before


def test_rows_of_a_list_stand_in_their_transaction(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        scope.insert_all(changes, [{"seq": seq, "at": scope.now, **_ROW} for seq in (1_000, 1_001)])
    assert _stored(store, 1_001)

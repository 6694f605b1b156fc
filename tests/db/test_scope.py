"""The scope: no statement without its workspace, changes in order, bells after the commit."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

import pytest
import sqlalchemy as sa

from core.database import Scope, UnscopedStatementError
from core.events import Bell, TurnRequested
from core.sql import statements
from core.tables import changes, workspaces
from runtime.inbox.turn_queue import wake_task
from runtime.tables import tasks, turns
from tests.runtime.turn_driver import new_task
from tests.support.databases import Store


def _other_workspace(store: Store) -> str:
    with store.database.unscoped() as connection:
        connection.execute(
            sa.insert(workspaces).values(
                id="ws_other", name="O", timezone="UTC", change_seq=0, created_at=store.clock.now()
            )
        )
    return "ws_other"


def test_statement_without_its_workspace_is_refused(store: Store) -> None:
    other = _other_workspace(store)
    with store.database.transaction(store.workspace_id) as scope, store.database.reading(other) as foreign:
        with pytest.raises(UnscopedStatementError):
            scope.rows(sa.select(tasks))
        with pytest.raises(UnscopedStatementError):
            scope.change(sa.delete(tasks))
        with pytest.raises(UnscopedStatementError):
            scope.rows(foreign.select(tasks))


def test_row_of_another_workspace_is_neither_seen_nor_changed(store: Store) -> None:
    mine = new_task(store)
    other = _other_workspace(store)

    with store.database.transaction(other) as scope:
        assert scope.rows(scope.select(tasks)) == []
        assert scope.change(scope.update(tasks).where(tasks.c.id == mine.id).values(goal="stolen")) == 0
        assert scope.change(scope.delete(tasks).where(tasks.c.id == mine.id)) == 0


def test_a_statement_built_once_keeps_to_the_workspace_of_each_run(store: Store) -> None:
    mine = new_task(store)
    other = _other_workspace(store)
    look = statements.select(tasks).where(tasks.c.id == sa.bindparam("task"))
    spoil = statements.update(tasks).where(tasks.c.id == sa.bindparam("task")).values(goal=sa.bindparam("now"))
    spill = statements.delete(tasks).where(tasks.c.id == sa.bindparam("task"))

    with store.database.transaction(other) as scope:
        assert scope.first(look, task=mine.id) is None
        assert scope.rows(spoil.returning(tasks.c.id), task=mine.id, now="stolen") == []
        assert scope.change(spill, task=mine.id) == 0
        # Naming the workspace among the values is no way into it.
        assert scope.first(look, task=mine.id, scope_workspace_id=store.workspace_id) is None
    with store.database.transaction(store.workspace_id) as scope:
        assert scope.change(spoil, task=mine.id, now="mine") == 1
        found = scope.first(look, task=mine.id)
    assert found is not None
    assert found.goal == "mine"


def test_a_statement_built_once_narrows_every_table_it_names(store: Store) -> None:
    other = _other_workspace(store)
    mine = new_task(store)
    with store.database.transaction(store.workspace_id) as scope:
        assert wake_task(scope, mine.id, "cause") is not None
    both = statements.select(tasks.c.id, turns.c.id.label("turn_id")).where(turns.c.task_id == tasks.c.id)
    joined = statements.select(tasks.c.id).select_from(tasks.join(turns, turns.c.task_id == tasks.c.id))

    for statement in (both, joined):
        with store.database.reading(store.workspace_id) as scope:
            assert [row.id for row in scope.rows(statement)] == [mine.id]
        with store.database.reading(other) as scope:
            assert scope.rows(statement) == []


def _rolled_back(store: Store, act: Callable[[Scope], None]) -> None:
    with contextlib.suppress(RuntimeError), store.database.transaction(store.workspace_id) as scope:
        act(scope)
        raise RuntimeError


def test_each_change_gets_the_next_number_and_a_rollback_leaves_no_gap(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        scope.changed("task", "a")
        scope.changed("task", "b")
        scope.changed("task", "a")
    _rolled_back(store, lambda scope: scope.changed("task", "lost"))
    with store.database.transaction(store.workspace_id) as scope:
        scope.changed("card", "c")

    with store.database.reading(store.workspace_id) as scope:
        seen = [(row.seq, row.id) for row in scope.rows(scope.select(changes).order_by(changes.c.seq))]
    assert seen == [(1, "a"), (2, "b"), (3, "c")]


def test_numbers_become_visible_in_their_order_under_many_writers(store: Store) -> None:
    stop = threading.Event()
    gaps: list[list[int]] = []

    def write(name: int) -> None:
        for n in range(25):
            with store.database.transaction(store.workspace_id) as scope:
                scope.changed("task", f"{name}-{n}")

    def read() -> None:
        while not stop.is_set():
            with store.database.reading(store.workspace_id) as scope:
                seen = [row.seq for row in scope.rows(scope.select(changes.c.seq).order_by(changes.c.seq))]
            if seen != list(range(1, len(seen) + 1)):
                gaps.append(seen)

    reader = threading.Thread(target=read)
    writers = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in (reader, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    reader.join()

    assert gaps == []
    with store.database.reading(store.workspace_id) as scope:
        assert scope.scalar(scope.select(sa.func.count(changes.c.seq).label("n"))) == 100


def test_bell_rings_after_the_commit_and_not_at_all_without_one(store: Store) -> None:
    bell = Bell(TurnRequested(workspace_id=store.workspace_id, turn_id="t"), id="t:1")
    with store.database.transaction(store.workspace_id) as scope:
        scope.ring(bell)
        assert store.bells.rung == []
    _rolled_back(store, lambda scope: scope.ring(Bell(bell.event, id="t:2")))

    assert store.bells.ids() == ["t:1"]

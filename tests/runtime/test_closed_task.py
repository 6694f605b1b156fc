"""What a task that is stopped or put away leaves unread has an end of its own."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from core.database import Scope
from core.errors import ConflictError
from core.llm.scripted_model import ScriptedModel, says
from runtime import recovery
from runtime.commands import control, withdrawal
from runtime.inbox import inbox, messages
from runtime.statuses import InputKind
from runtime.tables import inbox as inbox_rows
from runtime.tasks.tasks import Task
from tests.runtime.turn_driver import (
    LEASE,
    drive_turn,
    get_message,
    new_task,
    newest_turn,
    post_words,
    runtime_dependencies,
)
from tests.support.databases import Store

End = Callable[[Scope, str], Task]


@pytest.mark.parametrize("end", [control.stop_task, control.archive_task])
def test_message_that_was_not_read_is_superseded_and_one_that_was_stays_so(store: Store, end: End) -> None:
    task = new_task(store)
    read = post_words(store, task.id, "go")
    drive_turn(runtime_dependencies(store, ScriptedModel(says("ok"))), store, newest_turn(store, task.id).id)
    late = post_words(store, task.id, "one more")
    with store.database.transaction(store.workspace_id) as scope:
        inbox.store_input(scope, task.id, InputKind.OUTCOME, "order-1")

    with store.database.transaction(store.workspace_id) as scope:
        end(scope, task.id)
        end(scope, task.id)

    assert (get_message(store, read).state, get_message(store, late).state) == ("answered", "superseded")
    with store.database.reading(store.workspace_id) as scope:
        assert inbox.list_unread(scope, task.id) == []
        states = [row.state for row in scope.rows(scope.select(inbox_rows).order_by(inbox_rows.c.created_at))]
    assert sorted(states) == ["consumed", "superseded", "superseded"]


def test_message_of_a_closed_task_can_no_longer_be_taken_back_and_wakes_nobody(store: Store) -> None:
    task = new_task(store)
    late = post_words(store, task.id, "go")
    with store.database.transaction(store.workspace_id) as scope:
        control.stop_task(scope, task.id)

    for take_back in (withdrawal.withdraw_message, _replace):
        with store.database.transaction(store.workspace_id) as scope, pytest.raises(ConflictError, match="superseded"):
            take_back(scope, late)
    store.clock.advance(timedelta(minutes=5))
    recovery.recover_workspace(store.database, store.workspace_id, timedelta(seconds=10), LEASE)

    assert newest_turn(store, task.id).status == "stopped"


def _replace(scope: Scope, message_id: str) -> messages.Message:
    return withdrawal.replace_message(scope, message_id, "other words", person_id="person_local", speaks_as="person")

"""A turn that cannot go on: the person is asked, and what came meanwhile is taken up by the next."""

from __future__ import annotations

from datetime import timedelta

import pytest

from core.errors import UnavailableError
from core.llm.scripted_model import ScriptedModel, says
from runtime import recovery
from runtime.cards import cards
from runtime.commands import control
from runtime.dependencies import RuntimeDependencies
from runtime.loop import decision, entry, turn_end
from tests.runtime.turn_driver import (
    LEASE,
    Note,
    drive_turn,
    get_message,
    get_task,
    get_turn,
    new_task,
    newest_turn,
    post_words,
    runtime_dependencies,
)
from tests.support.databases import Store


def _watch(store: Store) -> None:
    for _ in range(5):
        store.clock.advance(timedelta(minutes=5))
        recovery.recover_workspace(store.database, store.workspace_id, timedelta(seconds=10), LEASE)


def _fail(store: Store, made: RuntimeDependencies, turn_id: str, run_id: str = "run-1") -> None:
    assert turn_end.fail_turn(made, store.workspace_id, turn_id, run_id, "it does not work")


def _try(store: Store, made: RuntimeDependencies, turn_id: str, run_id: str = "run-1") -> None:
    """A run whose model is away."""
    entry.open_turn(made, store.workspace_id, turn_id, run_id)
    with pytest.raises(UnavailableError):
        decision.decide_step(made, store.workspace_id, turn_id, run_id, 1)


@pytest.mark.case("B56")
def test_message_that_came_while_a_turn_failed_is_read_by_a_new_one(store: Store) -> None:
    task = new_task(store)
    post_words(store, task.id, "one")
    failing = newest_turn(store, task.id).id
    dependencies = runtime_dependencies(store, ScriptedModel(says("", ("note", "{}")), says("Both are done.")), Note())
    entry.open_turn(dependencies, store.workspace_id, failing, "run-1")
    decision.decide_step(dependencies, store.workspace_id, failing, "run-1", 1)
    store.clock.advance(timedelta(seconds=1))
    late = post_words(store, task.id, "two, while it fails")

    _fail(store, dependencies, failing)

    following = newest_turn(store, task.id)
    assert (get_turn(store, failing).status, following.status) == ("failed", "queued")
    assert drive_turn(dependencies, store, following.id, "run-2") == "completed"
    assert get_message(store, late).state == "answered"
    with store.database.reading(store.workspace_id) as scope:
        assert cards.list_open_cards(scope, task.id) == []


def test_message_that_came_between_two_tries_of_a_request_is_tried_and_then_waits(store: Store) -> None:
    task = new_task(store)
    post_words(store, task.id, "one")
    failing = newest_turn(store, task.id).id
    dependencies = runtime_dependencies(store, ScriptedModel(*[UnavailableError("away")] * 2))
    _try(store, dependencies, failing)
    post_words(store, task.id, "two")
    _try(store, dependencies, failing)

    _fail(store, dependencies, failing)
    _watch(store)

    assert (get_task(store, task.id).status, newest_turn(store, task.id).id) == ("blocked", failing)


def test_model_that_stays_down_is_asked_once_for_each_new_message(store: Store) -> None:
    task = new_task(store)
    first = post_words(store, task.id, "one")
    dependencies = runtime_dependencies(store, ScriptedModel(*[UnavailableError("away")] * 3))
    seen = []
    for n in range(2):
        seen.append(newest_turn(store, task.id).id)
        store.clock.advance(timedelta(seconds=1))
        _try(store, dependencies, seen[-1], f"run-{n}")
        if n == 0:
            store.clock.advance(timedelta(seconds=1))
            post_words(store, task.id, "two, after the last try")
        _fail(store, dependencies, seen[-1], f"run-{n}")
    _watch(store)

    assert newest_turn(store, task.id).id == seen[1] != seen[0]
    assert get_task(store, task.id).status == "blocked"
    assert get_message(store, first).state == "delivered"


def test_turn_that_fails_while_a_person_has_paused_its_task_is_followed_by_none(store: Store) -> None:
    task = new_task(store)
    post_words(store, task.id, "one")
    failing = newest_turn(store, task.id).id
    dependencies = runtime_dependencies(store, ScriptedModel(UnavailableError("away")))
    _try(store, dependencies, failing)
    store.clock.advance(timedelta(seconds=1))
    post_words(store, task.id, "two")
    with store.database.transaction(store.workspace_id) as scope:
        control.pause_task(scope, task.id)

    _fail(store, dependencies, failing)
    _watch(store)

    assert (get_task(store, task.id).status, newest_turn(store, task.id).id) == ("paused", failing)
    with store.database.transaction(store.workspace_id) as scope:
        control.resume_task(scope, task.id)
    assert newest_turn(store, task.id).status == "queued"


def test_turn_that_never_came_to_read_is_not_followed_for_the_same_message(store: Store) -> None:
    task = new_task(store)
    post_words(store, task.id, "one")
    store.clock.advance(timedelta(seconds=1))
    failing = newest_turn(store, task.id).id
    dependencies = runtime_dependencies(store, ScriptedModel())
    entry.open_turn(dependencies, store.workspace_id, failing, "run-1")

    _fail(store, dependencies, failing)
    _watch(store)

    assert (get_task(store, task.id).status, newest_turn(store, task.id).id) == ("blocked", failing)

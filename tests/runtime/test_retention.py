"""What is pruned and what is kept."""

from __future__ import annotations

from datetime import timedelta

from app.web.stream.frames import newest_seq, oldest_seq
from core.tables import replies
from runtime import notices, retention
from runtime.tables import notices as told
from tests.runtime.turn_driver import new_task
from tests.support.databases import Store


def reply(store: Store, key: str) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        scope.insert(replies, key=key, endpoint="POST /", digest="", status=200, body={}, created_at=scope.now)


def prune(store: Store) -> int:
    return retention.prune_workspace(store.database, store.workspace_id)


def seqs(store: Store) -> tuple[int | None, int]:
    with store.database.reading(store.workspace_id) as scope:
        return oldest_seq(scope), newest_seq(scope)


def test_answers_are_kept_for_two_days(store: Store) -> None:
    reply(store, "old")
    store.clock.advance(timedelta(days=1))
    reply(store, "young")
    assert prune(store) == 0
    store.clock.advance(timedelta(days=1, hours=2))

    assert prune(store) == 1

    with store.database.reading(store.workspace_id) as scope:
        assert [row.key for row in scope.rows(scope.select(replies))] == ["young"]


def test_changes_go_batch_by_batch_and_the_newest_stays_a_place_to_stand(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        for n in range(retention.BATCH + 10):
            scope.changed("task", f"task_{n}")
    store.clock.advance(timedelta(days=6))
    new_task(store)
    young = seqs(store)[1]
    store.clock.advance(timedelta(days=2))

    assert prune(store) == retention.BATCH + 10
    assert seqs(store) == (young, young)

    store.clock.advance(timedelta(days=30))
    assert prune(store) == 0
    assert seqs(store) == (young, young)


def test_it_is_done_once_an_hour_however_many_watch(store: Store) -> None:
    assert prune(store) == 0
    reply(store, "old")
    store.clock.advance(retention.REPLIES_KEPT + timedelta(hours=2))
    assert (prune(store), prune(store)) == (1, 0)


def test_what_ops_was_told_goes_once_it_was_sent(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        for cause in ("sent", "unsent"):
            notices.store_notice(scope, "ops", cause, cause)
        notices.store_notice(scope, "person", "said", "said")
        scope.change(scope.update(told).where(told.c.cause != "unsent").values(sent_at=scope.now))
    store.clock.advance(timedelta(days=3))

    assert retention.prune_workspace(store.database, store.workspace_id, timedelta(days=2)) == 1

    with store.database.reading(store.workspace_id) as scope:
        assert {row.cause for row in scope.rows(scope.select(told))} == {"unsent", "said"}

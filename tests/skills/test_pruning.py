"""Rows of skills go when nobody asks for them any more, and not before."""

from __future__ import annotations

from datetime import timedelta

from core.database import Scope
from skills import retention
from skills.book import claims, drafts, outcomes, refusals, runs, schedule_claims, skill, versions
from skills.book.schedule_claims import ScheduledStart
from skills.lifecycle import promotion
from skills.review import reviews
from tests.skills.saved_versions import record_run, save_live_version
from tests.support.databases import Store

KEPT = timedelta(days=40)


def prune(store: Store, kept: timedelta = KEPT) -> int:
    return retention.prune_skills(store.database, store.workspace_id, kept)


def fill(store: Store, n: int) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        claims.claim(scope, "watch", f"k{n}", "run", 60)
        refusals.record_refusal(scope, skill_id="watch", version_id=None, run_id=None, what="host", detail=f"{n}")
        outcomes.record_outcome(
            scope, skill_id="watch", run_id=None, kind="answer", value=f"{n}", by=None, cause=f"c{n}", facts={}
        )
        schedule_claims.claim_start(scope, "watch", "work", ScheduledStart("0 8 * * *", f"2026-01-0{n}"), f"r{n}")
        drafts.announce_save(
            scope, skill_id="watch", sha=f"s{n}", author="agent", author_ref="call", reason="", base_id=None
        )


def test_what_is_old_goes_and_what_is_not_stays(store: Store) -> None:
    fill(store, 1)
    store.clock.advance(KEPT + timedelta(days=1))
    fill(store, 2)

    assert prune(store) == 5

    with store.database.transaction(store.workspace_id) as scope:
        assert [claims.holder(scope, "watch", f"k{n}") for n in (1, 2)] == [None, "run"]
        assert [one.detail for one in refusals.list_refusals(scope, "watch")] == ["2"]
        assert [one.value for one in outcomes.list_outcomes(scope, "watch")] == ["2"]
        assert [drafts.find_draft(scope, "watch", f"s{n}") is None for n in (1, 2)] == [True, False]
        assert not schedule_claims.claim_start(
            scope, "watch", "work", ScheduledStart("0 8 * * *", "2026-01-02"), "another"
        )


def test_it_is_done_once_an_hour(store: Store) -> None:
    fill(store, 1)
    store.clock.advance(KEPT + timedelta(days=1))
    assert prune(store) == 5
    fill(store, 2)
    store.clock.advance(timedelta(minutes=2))

    assert prune(store) == 0
    store.clock.advance(timedelta(hours=1))
    assert prune(store) == 1


def ran(store: Store, stem: str, *names: str) -> None:
    """Runs of the version that serves, a minute apart, each completed."""
    for name in names:
        with store.database.transaction(store.workspace_id) as scope:
            record_run(scope, serving(scope, stem), name, "completed")
        store.clock.advance(timedelta(minutes=1))


def serving(scope: Scope, stem: str) -> versions.CheckedVersion:
    return versions.get_version(scope, str(skill.get_skill(scope, stem).version_id))


def known(store: Store, stem: str) -> set[str]:
    with store.database.reading(store.workspace_id) as scope:
        return {one.run_id for one in runs.list_skill_runs(scope, stem, 2000)}


def test_the_newest_runs_of_a_version_stay_so_that_it_has_a_history(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        save_live_version(scope, "x", "1")
    named = [f"r{n:02}" for n in range(retention.NEWEST + 5)]
    ran(store, "x", *named)
    store.clock.advance(KEPT)
    ran(store, "x", "young")

    assert prune(store) == 6

    assert known(store, "x") == {*named[6:], "young"}
    with store.database.reading(store.workspace_id) as scope:
        version = serving(scope, "x")
        facts = promotion.collect_facts(
            scope, skill.get_skill(scope, "x"), version, always_ask=False, canary_runs=1, shadow_runs=1
        )
        assert facts.has_history
        assert len(runs.list_completed_runs(scope, version.id, 5)) == 5


def test_a_run_that_has_not_ended_keeps_its_version_whatever_its_age(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        record_run(scope, save_live_version(scope, "x", "1"), "sleeper")
    ran(store, "x", *(f"r{n:02}" for n in range(retention.NEWEST + 1)))
    store.clock.advance(10 * KEPT)

    assert prune(store) == 1

    assert "sleeper" in known(store, "x")
    with store.database.reading(store.workspace_id) as scope:
        assert runs.is_version_in_use(scope, serving(scope, "x").id)


def test_a_short_retention_leaves_what_a_review_looks_at(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        save_live_version(scope, "x", "1")
    ran(store, "x", *(f"r{n:02}" for n in range(retention.NEWEST + 3)))
    store.clock.advance(timedelta(days=20))

    assert prune(store, timedelta(days=1)) == 0
    store.clock.advance(timedelta(days=9))
    assert prune(store, timedelta(days=1)) == 3


def test_old_reviews_go_but_for_the_newest_ones_and_one_that_is_under_way(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        save_live_version(scope, "x", "1")
        for n in range(retention.NEWEST + 2):
            review = reviews.request_review(scope, "x", f"weekly:{n}", ring=False)
            reviews.move_review(scope, review.id, "done", was="requested")
    store.clock.advance(timedelta(minutes=1))
    with store.database.transaction(store.workspace_id) as scope:
        reviews.request_review(scope, "x", "now", ring=False)
    store.clock.advance(KEPT + timedelta(days=1))

    assert prune(store) == 3

    with store.database.reading(store.workspace_id) as scope:
        assert reviews.find_open_review(scope, "x") is not None
        assert len(reviews.list_reviews(scope, "x", 100)) == retention.NEWEST


def test_more_than_a_batch_goes_in_one_pass(store: Store) -> None:
    more = retention.BATCH + retention.NEWEST + 7
    with store.database.transaction(store.workspace_id) as scope:
        version = save_live_version(scope, "x", "1")
        for n in range(more):
            record_run(scope, version, f"r{n:04}", "completed")
    store.clock.advance(KEPT + timedelta(days=1))

    assert prune(store) == more - retention.NEWEST

"""The text of an older version on its way again: whose change it is, and what it must pass."""

from __future__ import annotations

from datetime import timedelta

import pytest

from core.database import Scope
from runtime.cards import cards
from skills.book import drafts, versions
from skills.book.skill import get_skill, lock_skill
from skills.book.versions import CheckedVersion
from skills.lifecycle import control, decision, promotion
from skills.lifecycle.decision import VersionFacts
from tests.skills.saved_versions import record_run, save_live_version, save_version
from tests.support.databases import Store

AGENT = {"author": "agent", "author_ref": "call_9", "reason": "it was better"}
PERSON = {"author": "person", "author_ref": None, "reason": ""}


def facts_of(scope: Scope, version: CheckedVersion) -> VersionFacts:
    skill, now = get_skill(scope, "x"), versions.get_version(scope, version.id)
    return promotion.collect_facts(scope, skill, now, always_ask=False, canary_runs=2, shadow_runs=1)


@pytest.mark.parametrize("author", ["shipped", "person"])
def test_the_agents_return_to_anybodys_text_is_a_change_of_its_own(store: Store, author: str) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        first = save_live_version(scope, "x", "1", author)
        record_run(scope, save_live_version(scope, "x", "2", "agent"), "r1", "completed")

        promotion.offer_version(scope, "x", first, AGENT)

        assert versions.get_version(scope, first.id).offered_by == ("agent", "call_9")
        assert decision.next_move(facts_of(scope, first)) == "dry_run"
        # Offered by who wrote it, it serves at once
        promotion.offer_version(scope, "x", first)
        assert versions.get_version(scope, first.id).offered_by == (author, None)
        assert decision.next_move(facts_of(scope, first)) == "activate"


def test_what_a_person_went_back_from_the_agent_brings_back_with_their_word_only(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        save_live_version(scope, "x", "1", "agent")
        second = save_live_version(scope, "x", "2", "agent")
        record_run(scope, second, "r1", "completed")
        control.rollback(scope, "x", "ann")
        save_version(scope, "x", "3", "agent")

        promotion.offer_version(scope, "x", second, AGENT)

        assert decision.next_move(facts_of(scope, second)) == "ask"
        # Another change between the two lets nobody forget it
        save_version(scope, "x", "4", "agent")
        promotion.offer_version(scope, "x", second, AGENT)
        assert decision.next_move(facts_of(scope, second)) == "ask"
        promotion.wait_for_permission(scope, "x", versions.get_version(scope, second.id), ())
        (card,) = cards.list_open_cards(scope)
        assert "the agent brings it back: it was better" in card.body
        assert "A person went back from it to an earlier version." in card.body
        # A person who saves it themselves has said so
        promotion.offer_version(scope, "x", second, PERSON)
        assert decision.next_move(facts_of(scope, second)) == "activate"


def test_first_runs_are_counted_anew_when_a_text_is_offered_again(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        record_run(scope, save_live_version(scope, "x", "1", "agent"), "r1", "completed")
        tried = save_version(scope, "x", "2", "agent")
        promotion.set_candidate_stage(scope, "x", tried, "canary", canary={"of": 2, "since": scope.now.isoformat()})
        record_run(scope, tried, "r2", "failed", "canary")
        assert promotion.count_first_runs(scope, versions.get_version(scope, tried.id)) == {"failed": 1}
    store.clock.advance(timedelta(hours=1))

    with store.database.transaction(store.workspace_id) as scope:
        promotion.offer_version(scope, "x", tried, AGENT)
        assert promotion.count_first_runs(scope, versions.get_version(scope, tried.id)) == {}
        tried = versions.get_version(scope, tried.id)
        promotion.set_candidate_stage(scope, "x", tried, "canary", canary={"of": 2, "since": scope.now.isoformat()})
        record_run(scope, tried, "r3", "completed", "canary")
        assert promotion.count_first_runs(scope, versions.get_version(scope, tried.id)) == {"completed": 1}
        assert facts_of(scope, tried).failed == 0


def test_an_announced_save_is_its_authors_until_it_has_been_a_version(store: Store) -> None:
    def announce(scope: Scope, sha: str, call: str) -> None:
        said = {"author": "agent", "author_ref": call, "reason": "", "base_id": None}
        drafts.announce_save(scope, skill_id="x", sha=sha, **said)  # type: ignore[arg-type] # each is what it says

    with store.database.transaction(store.workspace_id) as scope:
        announce(scope, "f" * 64, "call_1")
        assert drafts.find_fresh_draft(scope, "x", "f" * 64) is not None
    store.clock.advance(timedelta(minutes=1))
    with store.database.transaction(store.workspace_id) as scope:
        version = save_live_version(scope, "x", "1", "agent")
        assert drafts.find_fresh_draft(scope, "x", version.sha) is None
    store.clock.advance(timedelta(minutes=1))
    with store.database.transaction(store.workspace_id) as scope:
        announce(scope, version.sha, "call_2")
        found = drafts.find_fresh_draft(scope, "x", version.sha)
        assert found is not None
        assert found.author_ref == "call_2"
    store.clock.advance(timedelta(minutes=1))
    with store.database.transaction(store.workspace_id) as scope:
        promotion.make_current(scope, lock_skill(scope, "x"), version)
        # It served since it was announced: who saves it from now on is somebody else
        assert drafts.find_fresh_draft(scope, "x", version.sha) is None

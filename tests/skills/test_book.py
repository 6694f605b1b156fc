"""The book's rows: versions, drafts, grants, runs, and what moves them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from core.database import Scope
from core.errors import ConflictError, NotFoundError, RefusedError
from core.tables import changes, workspaces
from runtime import notices
from runtime.cards import cards
from runtime.cards.answers import CardAnswers, answer_card
from skills.book import drafts, grants, run_days, runs, versions
from skills.book import skill as book_skill
from skills.book.versions import CheckedVersion
from skills.card_answers import SKILL_CARD_ANSWERS
from skills.format.problem import SkillProblem
from skills.lifecycle import control, decision, promotion, save_status
from tests.skills.saved_versions import record_run, save_live_version, save_version, skill_manifest
from tests.support.databases import Store


def test_a_skill_is_entered_once_and_each_change_is_told(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        first = book_skill.enter_skill(scope, "x", origin="agent", path="/x.py")
        assert (first.status, first.epoch, book_skill.enter_skill(scope, "x", origin="person", path="/y.py")) == (
            "checking",
            1,
            first,
        )
        assert book_skill.save_skill(scope, first) == first
        told = book_skill.save_skill(scope, replace(first, problems=(SkillProblem(3, "r", "f"),)))
    with store.database.reading(store.workspace_id) as scope:
        assert book_skill.get_skill(scope, "x") == told
        assert (told.epoch, told.problems, book_skill.sum_epochs(scope)) == (2, (SkillProblem(3, "r", "f"),), 2)
        assert [(row.kind, row.id) for row in scope.rows(scope.select(changes))] == [("skill", "x")]
        assert book_skill.find_skill(scope, "nobody") is None
        with pytest.raises(NotFoundError):
            book_skill.get_skill(scope, "nobody")


def test_versions_are_numbered_kept_and_the_same_content_is_one(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        one, two = save_live_version(scope, "x", "a = 1\nb = 2\n"), save_live_version(scope, "x", "a = 1\nb = 3")
        assert (one.number, two.number, two.parent_id) == (1, 2, one.id)
        again = save_version(scope, "x", "a = 1\nb = 2\n")
        assert (again.id, again.number, again.stage) == (one.id, 1, "checked")
        assert [version.number for version in versions.list_versions(scope, "x")] == [2, 1]
        assert versions.get_version_by_number(scope, "x", 2).id == two.id
        difference = versions.diff_versions(one, two)
        assert "-b = 2\n+b = 3\n" in difference
        assert versions.diff_versions(None, one).count("\n+") == 3
        assert two.function_ids == ("work",)


def test_a_newer_save_takes_the_place_of_a_waiting_one_and_its_card(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        first = save_version(scope, "x", "1", spend=True)
        skill = promotion.wait_for_permission(scope, "x", first, ("spend",))
        assert (skill.status, skill.candidate_id) == ("waiting", first.id)
        asked = cards.list_open_cards(scope)
        second = save_version(scope, "x", "2")
        assert cards.get_card(scope, asked[0].id).state == "superseded"
        assert versions.get_version(scope, first.id).stage == "superseded"
        assert promotion.activate_version(scope, "x", second).status == "active"


def _answer(scope: Scope, store: Store, option: str) -> None:
    (card,) = cards.list_open_cards(scope)
    assert card.kind == "permission"
    answers = CardAnswers(SKILL_CARD_ANSWERS)
    answer_card(scope, card.id, option, None, store.person_id, answers)


def test_granted_once_and_asked_only_for_what_is_new(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        wants: dict[str, Any] = {"hosts": ["a:1"], "model_budget_per_day": "0.50"}
        version = save_version(scope, "x", "1", **wants)
        missing = grants.missing_permissions(scope, "x", grants.wanted_permissions(version.manifest))
        assert missing == ("host:a:1", "model:0.50")
        promotion.wait_for_permission(scope, "x", version, missing)
        epoch = book_skill.get_skill(scope, "x").epoch
        _answer(scope, store, "grant")
        assert versions.get_version(scope, version.id).stage == "checked"
        assert book_skill.get_skill(scope, "x").epoch > epoch
        assert grants.missing_permissions(scope, "x", missing) == ()
        assert grants.missing_permissions(scope, "x", ("model:0.4", "model:0.51", "host:b:1")) == (
            "model:0.51",
            "host:b:1",
        )
        assert grants.missing_permissions(scope, "y", missing) == missing


def test_another_skill_of_an_old_name_inherits_no_grants(store: Store) -> None:
    # Given a skill that was granted a host and then taken away
    with store.database.transaction(store.workspace_id) as scope:
        first = save_version(scope, "x", "1", hosts=["a:1"])
        promotion.wait_for_permission(scope, "x", first, ("host:a:1",))
        _answer(scope, store, "grant")
        promotion.activate_version(scope, "x", first)
        control.retire(scope, "x")
    with store.database.transaction(store.workspace_id) as scope:
        # When the same file comes back, then it may do what it might
        promotion.offer_version(scope, "x", first)
        assert grants.granted_permissions(scope, "x") == {"host:a:1"}
        # When another one bears its name, then that asks anew
        control.retire(scope, "x")
        save_version(scope, "x", "2", author="agent", hosts=["a:1"])
        assert grants.granted_permissions(scope, "x") == frozenset()


def test_nothing_of_another_skill_of_an_old_name_comes_back_by_itself(store: Store) -> None:
    # Given a skill of two versions with a history, taken away, and another one that bears its name
    with store.database.transaction(store.workspace_id) as scope:
        first = save_live_version(scope, "x", "1")
        record_run(scope, save_live_version(scope, "x", "2"), "r1", "completed")
        control.delete(scope, "x", "person")
        other = save_live_version(scope, "x", "3")
        assert not runs.has_history(scope, "x")
        assert runs.find_last_completed_run(scope, "x") is None
        # When that fails, then nothing serves in its place
        assert _fails(scope, other, "r2", "r3", "r4").status == "quarantined"
        assert versions.get_version(scope, first.id).stage == "retired"


def test_what_a_person_took_away_holds_nothing_when_it_comes_back(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        first = save_version(scope, "x", "1", hosts=["a:1"])
        promotion.wait_for_permission(scope, "x", first, ("host:a:1",))
        _answer(scope, store, "grant")
        promotion.activate_version(scope, "x", first)
        control.delete(scope, "x", "person")
        assert grants.granted_permissions(scope, "x") == frozenset()


def test_nobody_goes_back_to_a_version_whose_permissions_are_gone(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        first = save_version(scope, "x", "1", hosts=["a:1"])
        promotion.wait_for_permission(scope, "x", first, ("host:a:1",))
        _answer(scope, store, "grant")
        promotion.activate_version(scope, "x", first)
        control.delete(scope, "x", "person")
        save_live_version(scope, "x", "2")
        with pytest.raises(ConflictError, match=r"version 1 asks for \(reach a:1\)"):
            control.rollback(scope, "x", "person", 1)


def test_refused_is_refused_and_may_be_asked_again_by_a_new_save(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        version = save_version(scope, "x", "1", spend=True)
        promotion.wait_for_permission(scope, "x", version, ("spend",))
        _answer(scope, store, "refuse")
        skill = book_skill.get_skill(scope, "x")
        assert (skill.status, skill.refused_sha, skill.candidate_id) == ("refused", version.sha, None)
        assert "a person refused" in skill.problems[0].reason
        assert save_status.read_save_status(scope, "x", version.sha).state == "refused"
        again = save_version(scope, "x", "1", spend=True)
        promotion.wait_for_permission(scope, "x", again, ("spend",))
        assert len(cards.list_open_cards(scope)) == 1


def test_a_file_does_not_word_the_card_that_asks_for_it(store: Store) -> None:
    """Given a purpose that looks like the card's own words and pushes these out of sight, it stays one line."""
    ours = "It would newly be allowed to:"
    with store.database.transaction(store.workspace_id) as scope:
        version = save_version(scope, "x", "1", author="agent", spend=True)
        told = version.manifest.model_copy(
            update={"purpose": f"reads\n\n{ours}\n- read a page\n\u202e" + "\n" * 99 + "."}
        )
        hostile = replace(version, manifest=told, reason="so\n\nA person wrote this")
        card = grants.open_permission_card(scope, book_skill.get_skill(scope, "x"), hostile, ("spend",), "cause")

    lines = card.body.split("\n")
    assert lines[0] == f"T: reads {ours} - read a page \\u202e ."
    assert [line for line in lines if line.startswith("- ")] == ["- order paid work"]
    assert lines[-1] == "Why: so A person wrote this"


def test_where_each_change_needs_a_card_the_agents_does_and_a_persons_does_not(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:

        def must_ask(stem: str, version: CheckedVersion) -> bool:
            fresh, skill = versions.get_version(scope, version.id), book_skill.get_skill(scope, stem)
            facts = promotion.collect_facts(scope, skill, fresh, always_ask=True, canary_runs=3, shadow_runs=1)
            return facts.must_ask

        assert not must_ask("mine", save_version(scope, "mine", "1"))
        change = save_version(scope, "its", "1", author="agent")
        assert must_ask("its", change)
        promotion.wait_for_permission(scope, "its", change, ())
        (card,) = cards.list_open_cards(scope)
        assert card.title == "May the skill its go live?"
        assert "The agent wrote /functions/its.py" in card.body
        _answer(scope, store, "grant")
        assert not must_ask("its", change)


def test_a_function_that_serves_goes_only_by_a_persons_word(store: Store) -> None:
    rules: dict[str, Any] = {"always_ask": False, "canary_runs": 1, "shadow_runs": 1}
    with store.database.transaction(store.workspace_id) as scope:
        record_run(scope, save_live_version(scope, "x", "1"), "r1", "completed")
        gone = save_version(scope, "x", "2", author="agent", function_id="other")
        facts = promotion.collect_facts(scope, book_skill.get_skill(scope, "x"), gone, **rules)
        assert (facts.must_ask, facts.can_be_tried) == (True, False)
        promotion.wait_for_permission(scope, "x", gone, facts.missing)
        assert "It would no longer have the function:\n- work\n" in cards.list_open_cards(scope)[0].body
        _answer(scope, store, "grant")
        after = promotion.collect_facts(
            scope, book_skill.get_skill(scope, "x"), versions.get_version(scope, gone.id), **rules
        )
        assert decision.next_move(after) == "activate"
        # A person takes away what they like.
        third = save_version(scope, "x", "3", function_id="third")
        facts = promotion.collect_facts(scope, book_skill.get_skill(scope, "x"), third, **rules)
        assert not facts.must_ask


def test_an_answer_to_a_version_that_was_overtaken_moves_nothing(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        version = save_version(scope, "x", "1", spend=True)
        promotion.wait_for_permission(scope, "x", version, ("spend",))
        (card,) = cards.list_open_cards(scope)
        save_version(scope, "x", "2")
        with pytest.raises(ConflictError):
            answer_card(scope, card.id, "grant", None, store.person_id, CardAnswers(SKILL_CARD_ANSWERS))


def test_every_permission_is_named_and_said(store: Store) -> None:
    everything = skill_manifest(
        hosts=["metrics.example:9090"],
        secrets={"METRICS_TOKEN": "metrics.example:9090"},
        events={"listen": ["foo/bar"], "send": ["bar/done"]},
        invoke=["skill-x/y", "skill-own/work"],
        memory="read",
        ask_agent=True,
        notify=["ops"],
        model_budget_per_day="0.50",
        spend=True,
    )
    names = grants.wanted_permissions(everything, [{"id": "skill-own-work"}])
    assert names == (
        "host:metrics.example:9090",
        "secret:METRICS_TOKEN@metrics.example:9090",
        "send:bar/done",
        "invoke:skill-x/y",
        "memory:read",
        "ask_agent",
        "notify:ops",
        "model:0.50",
        "spend",
    )
    assert grants.describe_permission("host:a:1") == "reach a:1"
    assert grants.describe_permission("model:0.50") == "spend up to 0.50 USD a day on models"
    assert len({grants.describe_permission(name) for name in names}) == len(names)


def test_a_draft_says_whose_a_save_is_and_the_agent_has_a_daily_limit(store: Store) -> None:
    def announce(scope: Scope, sha: str, call: str = "call_1") -> None:
        drafts.announce_save(
            scope, skill_id="x", sha=sha, author="agent", author_ref=call, reason="r", base_id=None, per_day=2
        )

    with store.database.transaction(store.workspace_id) as scope:
        announce(scope, "a")
        announce(scope, "a")
        announce(scope, "b")
        found = drafts.find_draft(scope, "x", "b")
        assert found is not None
        assert (found.author, found.author_ref) == ("agent", "call_1")
        assert drafts.find_draft(scope, "y", "b") is None
        with pytest.raises(RefusedError, match="2 times"):
            announce(scope, "c")
        # Nor does it go round between two texts.
        with pytest.raises(RefusedError, match="2 times"):
            announce(scope, "a", "call_2")
    store.clock.advance(timedelta(days=1, seconds=1))
    with store.database.transaction(store.workspace_id) as scope:
        announce(scope, "c")


def test_a_run_keeps_its_version_and_ends_once(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        one = save_live_version(scope, "x", "1")
        record_run(scope, one, "r1")
        two = save_live_version(scope, "x", "2")
        named: dict[str, Any] = {
            "skill_id": "x",
            "function_id": "work",
            "version_id": two.id,
            "stage": "live",
            "event": {},
        }
        assert runs.record_run_start(scope, run_id="r1", **named).version_id == one.id
        assert runs.is_version_in_use(scope, one.id)
        assert not runs.has_history(scope, one.skill_id)
        assert runs.record_run_end(scope, "r1", "completed", output={"a": 1}, attempts=2)
        assert not runs.record_run_end(scope, "r1", "failed")
        assert not runs.is_version_in_use(scope, one.id)
        kept = runs.find_run(scope, "r1")
        assert kept is not None
        assert (kept.status, kept.output, kept.attempts) == ("completed", {"a": 1}, 2)
        assert runs.has_history(scope, one.skill_id)


def test_quiet_runs_rates_and_large_outputs(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        version = save_live_version(scope, "x", "1")
        record_run(scope, version, "silent")
        record_run(scope, version, "asked")
    store.clock.advance(timedelta(minutes=2))
    with store.database.transaction(store.workspace_id) as scope:
        runs.record_run_call(scope, "asked")
        assert [one.run_id for one in runs.list_quiet_runs(scope, scope.now - timedelta(minutes=1))] == ["silent"]
        runs.record_run_end(scope, "silent", "lost")
        runs.record_run_end(scope, "asked", "completed", output="x" * 100_000, attempts=3)
        record_run(scope, version, "bad", "failed")
        kept = runs.find_run(scope, "asked")
        assert kept is not None
        assert kept.output["cut"] is True
        seen = runs.compute_rates(scope, "x", scope.now - timedelta(hours=1))
        assert (seen.completed, seen.failed, seen.other, seen.ended, seen.success) == (1, 1, 1, 3, 0.5)
        assert (seen.retries, seen.median_seconds) == (2, 120.0)


def test_a_run_that_was_skipped_counts_nowhere(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        save_live_version(scope, "x", "1")
        tried = save_live_version(scope, "x", "2")
        record_run(scope, tried, "r1", "failed")
        record_run(scope, tried, "r2", "failed")
        record_run(scope, tried, "again", None, "canary")
        runs.record_run_end(scope, "again", "completed", output={"skipped": "ran already"}, stage=runs.SKIPPED)
        assert runs.count_runs_by_status(scope, tried.id, "canary") == {}
        assert runs.list_completed_runs(scope, tried.id, 5) == []
        assert runs.count_failures_in_a_row(scope, tried.id, "work", 3) == 2
        assert (
            runs.compute_rates(scope, "x", scope.now).completed,
            runs.compute_rates(scope, "x", scope.now).success,
        ) == (0, 0.0)
        assert run_days.count_runs_by_day(scope, "x", UTC, 1)[0].runs == 2
        promotion.apply_failed_run(scope, "x", tried, "work", "r2", 2)
        assert versions.get_version(scope, tried.id).stage == "quarantined"
        # A run of its own that says such a thing is a run like any other.
        record_run(scope, tried, "own", None)
        runs.record_run_end(scope, "own", "completed", output={"skipped": "nothing to do"})
        assert runs.has_history(scope, tried.skill_id)
        assert runs.list_completed_runs(scope, tried.id, 5) != []


def _fails(scope: Scope, version: CheckedVersion, *names: str) -> book_skill.Skill:
    for name in names:
        record_run(scope, version, name, "failed")
        promotion.apply_failed_run(scope, version.skill_id, version, "work", name, 3)
    return book_skill.get_skill(scope, version.skill_id)


@pytest.mark.boundary(62)
def test_too_many_failures_restore_the_previous_version_once(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        good = save_live_version(scope, "x", "1")
    store.clock.advance(timedelta(minutes=1))
    with store.database.transaction(store.workspace_id) as scope:
        bad = save_live_version(scope, "x", "2")
        assert _fails(scope, bad, "r1", "r2").failures == 2
        record_run(scope, bad, "r2b", "completed")
        promotion.apply_completed_run(scope, "x", bad)
        assert book_skill.get_skill(scope, "x").failures == 0
    for name in ("r3", "r4"):
        store.clock.advance(timedelta(seconds=1))
        with store.database.transaction(store.workspace_id) as scope:
            assert _fails(scope, bad, name).version_id == bad.id
    store.clock.advance(timedelta(seconds=1))
    with store.database.transaction(store.workspace_id) as scope:
        restored = _fails(scope, bad, "r5")
        assert (restored.status, restored.version_id, restored.refused_sha) == ("active", good.id, bad.sha)
        assert versions.get_version(scope, bad.id).stage == "quarantined"
        assert "version 1 serves again" in restored.problems[0].reason
        # The restored one fails as well: nothing older is tried.
        gone = _fails(scope, good, "r6", "r7", "r8")
        assert (gone.status, gone.version_id) == ("quarantined", good.id)
        assert len(notices.list_newest_notices(scope)) == 2
    assert [bell.event.name for bell in store.bells.rung if bell.event.name.startswith("skill/")] == [
        "skill/quarantined"
    ] * 2
    with store.database.transaction(store.workspace_id) as scope:
        assert control.enable(scope, "x", "person").status == "active"


def test_a_failure_on_a_version_that_no_longer_serves_counts_for_nothing(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        old = save_live_version(scope, "x", "1")
        save_live_version(scope, "x", "2")
        assert _fails(scope, old, "r1", "r2", "r3").status == "active"
        assert versions.get_version(scope, old.id).stage == "superseded"


def test_rollback_moves_the_pointer_and_the_file_is_not_taken_again(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        one = save_live_version(scope, "x", "1")
        with pytest.raises(ConflictError, match="served before"):
            control.rollback(scope, "x", "person")
    store.clock.advance(timedelta(minutes=1))
    with store.database.transaction(store.workspace_id) as scope:
        two = save_live_version(scope, "x", "2")
        never = save_version(scope, "x", "3", spend=True)
        promotion.wait_for_permission(scope, "x", never, ("spend",))
        with pytest.raises(RefusedError, match="never served"):
            control.rollback(scope, "x", "person", to=3)
        back = control.rollback(scope, "x", "person")
        assert (back.version_id, back.refused_sha, back.candidate_id) == (one.id, never.sha, None)
        assert versions.get_version(scope, two.id).stage == "rolled_back"
        forth = control.rollback(scope, "x", "person", to=2)
        assert forth.version_id == two.id
        with pytest.raises(NotFoundError):
            control.rollback(scope, "x", "person", to=9)


def test_no_failure_brings_back_what_a_person_went_back_from(store: Store) -> None:
    # Given four versions, of which a person went back from the two newest
    found = []
    for text in "1234":
        with store.database.transaction(store.workspace_id) as scope:
            found.append(save_live_version(scope, "x", text))
        store.clock.advance(timedelta(minutes=1))
    one, two, three, four = found
    with store.database.transaction(store.workspace_id) as scope:
        control.rollback(scope, "x", "person", to=2)
        stages = [versions.get_version(scope, version.id).stage for version in found]
        assert stages == ["superseded", "active", "rolled_back", "rolled_back"]
        # When the one that serves fails, then the one before it serves again, and none of those
        assert _fails(scope, two, "r1", "r2", "r3").version_id == one.id
    # When a person chooses one of them all the same, then it serves; going back leads to an older one
    with store.database.transaction(store.workspace_id) as scope:
        assert control.rollback(scope, "x", "person", to=4).version_id == four.id
        with pytest.raises(ConflictError, match="served before"):
            control.rollback(scope, "x", "person")
        assert _fails(scope, four, "r4", "r5", "r6").status == "quarantined"
        assert versions.get_version(scope, three.id).stage == "rolled_back"
    # When its content is saved again, then it goes the way of any version
    with store.database.transaction(store.workspace_id) as scope:
        again = save_live_version(scope, "x", "3")
        assert (again.id, again.stage) == (three.id, "active")
        assert save_status.read_save_status(scope, "x", four.sha).state == "quarantined"
        assert save_status.read_save_status(scope, "x", one.sha).state == "rolled_back"


def test_turned_off_and_on_and_taken_away(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        version = save_live_version(scope, "x", "1")
        assert control.disable(scope, "x", "person").status == "disabled"
        on = control.enable(scope, "x", "person")
        assert (on.status, on.version_id) == ("active", version.id)
        gone = control.delete(scope, "x", "person")
        assert (gone.status, gone.refused_sha) == ("retired", version.sha)
        for refused in (control.enable, control.disable, control.rollback):
            with pytest.raises(ConflictError, match="retired"):
                refused(scope, "x", "person")
        book_skill.enter_skill(scope, "infra", origin="shipped", path="/s.py", enabled=False)
        with pytest.raises(RefusedError, match="disable it"):
            control.delete(scope, "infra", "person")
        assert control.enable(scope, "infra", "person").status == "checking"


def test_every_row_belongs_to_its_workspace(store: Store) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        version = save_live_version(scope, "x", "1")
        record_run(scope, version, "r1")
    with store.database.unscoped() as connection:
        now = store.clock.now()
        connection.execute(
            sa.insert(workspaces).values(id="ws_2", name="O", timezone="UTC", change_seq=0, created_at=now)
        )
    with store.database.reading("ws_2") as scope:
        assert book_skill.list_skills(scope) == []
        assert versions.find_version_by_sha(scope, "x", version.sha) is None
        assert runs.find_run(scope, "r1") is None
        with pytest.raises(NotFoundError):
            versions.get_version(scope, version.id)

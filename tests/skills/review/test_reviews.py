"""A review from the rows to the agent's task, each effect once; and the next one says what came of it."""

from __future__ import annotations

import json
from datetime import timedelta

from core.database import Scope
from core.errors import ModelError
from core.llm.port import ChatMessage, Verdict
from core.llm.scripted_model import ScriptedModel
from core.orchestrator.run_history import EngineRun
from runtime import notices
from runtime import recovery as runtime_watching
from runtime.cards import cards
from runtime.inbox import inbox, messages
from runtime.tables import calls, turns
from runtime.tasks import tasks
from skills.book import runs, versions
from skills.book.versions import CheckedVersion
from skills.format.problem import SkillProblem
from skills.lifecycle import promotion
from skills.review import reviews, steps
from skills.review.dependencies import ReviewDependencies
from skills.review.reviews import Review
from skills.tables import skill_versions
from skills.tables import skills as skill_rows
from tests.skills.review.history import (
    ScriptedEngine,
    ask_about_alarm,
    begin_run,
    change_verdict,
    record_past_runs,
    review_dependencies,
    run_review,
    save_skill,
)
from tests.skills.saved_versions import save_version
from tests.support.databases import Store

NOISY = ["false alarm"] * 4 + ["real"]


def _notices(store: Store) -> list[str]:
    with store.database.reading(store.workspace_id) as scope:
        return [notice.text for notice in notices.list_newest_notices(scope)]


def _evidence(version: CheckedVersion) -> list[str]:
    return [f"{version.id}-run0"]


def _order(store: Store, done: Review) -> tuple[str, dict[str, object]]:
    """What the agent was told: the words and the data."""
    assert done.task_id is not None
    with store.database.reading(store.workspace_id) as scope:
        (item,) = inbox.list_unread(scope, done.task_id)
        text = messages.get_message(scope, item.ref_id).text
    words, _, rest = text.partition("<data>\n")
    return words, json.loads(rest.removesuffix("\n</data>"))


def test_of_many_skills_those_reviewed_longest_ago_come_first_and_the_rest_is_rung_for(store: Store) -> None:
    stems = [f"skill{n:02}" for n in range(reviews.MOST_IN_A_RUN + 5)]
    for stem in stems:
        save_skill(store, stem)
    last = stems[-3:]

    def week(run_id: str) -> list[str]:
        """The skills that a run takes up; all that is asked for comes to an end."""
        taken = reviews.begin_reviews(store.database, store.workspace_id, run_id)
        assert reviews.begin_reviews(store.database, store.workspace_id, run_id) == taken
        with store.database.transaction(store.workspace_id) as scope:
            found = [reviews.get_review(scope, one).skill_id for one in taken]
            for stem in stems:
                review = reviews.find_open_review(scope, stem)
                assert review is not None
                reviews.move_review(scope, review.id, "done", was="requested")
        store.clock.advance(timedelta(days=7))
        return found

    # Given three skills that nobody reviewed yet, and others that somebody did
    with store.database.transaction(store.workspace_id) as scope:
        for stem in stems[:-3]:
            reviews.move_review(scope, reviews.request_review(scope, stem, f"hand:{stem}").id, "done", was="requested")
    store.clock.advance(timedelta(days=1))
    store.bells.rung.clear()

    # When the week's run comes, then it takes those first, and each of the rest gets a bell of its own
    first = week("run_1")

    rung = [bell.event.model_dump()["skill_id"] for bell in store.bells.rung]
    assert first == [*last, *stems[: reviews.MOST_IN_A_RUN - 3]]
    assert sorted([*first, *rung]) == stems
    assert len(week("run_2")) == reviews.MOST_IN_A_RUN


def test_questions_that_nobody_answers_close_after_a_week_and_count_as_ignored(store: Store) -> None:
    version = save_skill(store)
    record_past_runs(store, version, 6, [None] * 6)
    store.clock.advance(timedelta(days=8))
    runtime_watching.recover_workspace(store.database, store.workspace_id, timedelta(seconds=10), timedelta(seconds=30))

    done = run_review(store, review_dependencies(store, change_verdict(evidence=_evidence(version))))

    with store.database.reading(store.workspace_id) as scope:
        assert cards.list_open_cards(scope) == []
    found = done.facts["facts"]
    assert (found["answered"], found["ignored"], found["false_alarm_rate"]) == (0, 6, 1.0)
    assert done.task_id is not None


def test_a_review_gives_the_agent_one_task_with_evidence_and_expected_effect(store: Store) -> None:
    version = save_skill(store)
    record_past_runs(store, version, 8, NOISY)

    done = run_review(store, review_dependencies(store, change_verdict(evidence=_evidence(version))))

    assert (done.state, done.version_id) == ("done", version.id)
    assert done.facts["facts"]["false_alarm_rate"] == 0.8
    assert done.prediction == {"measure": "false_alarm_rate", "was": 0.8, "expected": 0.3}
    words, data = _order(store, done)
    assert "write_skill upon version 1" in words
    assert data["changes"] == [{"constant": "SENSITIVITY", "line": 1, "from": 1.0, "to": 0.7}]
    assert (data["base_version_id"], data["evidence"]) == (version.id, _evidence(version))
    with store.database.reading(store.workspace_id) as scope:
        task = tasks.get_task(scope, done.task_id or "")
        assert len(tasks.list_tasks(scope)) == 1
    # What nobody spoke for spends nothing without a card.
    assert (task.asked_by, task.person_id, task.status) == ("program", store.person_id, "active")
    assert _notices(store) == [
        "Review of watch: Too many false alarms. Proposed: SENSITIVITY from 1 to 0.7. "
        "Expected: false alarm rate from 80% to 30%. The agent is asked to write it."
    ]


def test_with_few_runs_the_model_is_not_asked_and_nothing_changes(store: Store) -> None:
    record_past_runs(store, save_skill(store), 4, NOISY[:4])

    done = run_review(store, review_dependencies(store))

    assert done.task_id is None
    assert done.verdict == {"said": None, "reason": "only 4 runs have ended; 5 are the least to judge by"}
    assert _notices(store) == []


def test_a_verdict_against_the_facts_is_kept_and_does_nothing(store: Store) -> None:
    version = save_skill(store)
    record_past_runs(store, version, 8, ["real"] * 5)

    done = run_review(store, review_dependencies(store, change_verdict(evidence=_evidence(version))))

    assert done.task_id is None
    assert done.verdict is not None
    assert done.verdict["said"]["sensitivity"] == "less_sensitive"
    assert "the outcomes say keep" in done.verdict["reason"]


class Confused:
    """A model whose answers cannot be used."""

    def get_ready(self) -> None:
        """It never is."""

    decide = ScriptedModel.decide

    def verdict(self, name: str, shape: type[Verdict], messages: list[ChatMessage]) -> Verdict:
        raise ModelError(f"{name} makes no sense")


def test_a_model_without_a_usable_verdict_proposes_nothing(store: Store) -> None:
    version = save_skill(store)
    record_past_runs(store, version, 8, NOISY)

    done = run_review(store, ReviewDependencies(store.database, Confused(), ScriptedEngine()))  # type: ignore[arg-type]

    assert done.task_id is None
    assert done.verdict is not None
    assert "no usable verdict" in done.verdict["reason"]


def test_an_alarm_belongs_to_the_skill_that_invoked_the_one_that_asked(store: Store) -> None:
    watch, triage = save_skill(store, "watch"), save_skill(store, "triage")
    record_past_runs(store, watch, 6)
    with store.database.transaction(store.workspace_id) as scope:
        for n in range(5):
            begin_run(
                scope,
                triage,
                f"t{n}",
                source_app_id="34f937e0-c44b-56fe-a589-bcf922e3c151",
                correlation_id=f"{watch.id}-run{n}.abc",
            )
            ask_about_alarm(store, scope, triage, f"t{n}", "false alarm")
    record_past_runs(store, triage, 6)

    of_watch = run_review(store, review_dependencies(store, change_verdict(evidence=["t0"])))
    of_triage = run_review(store, review_dependencies(store, {"decision": "keep"}), "triage")

    assert of_watch.facts["facts"]["false_alarms"] == 5
    assert of_watch.task_id is not None
    assert of_triage.facts["facts"]["alarms"] == 0


def test_the_engine_has_the_last_word_and_the_ledger_what_it_forgot(store: Store) -> None:
    version = save_skill(store)
    record_past_runs(store, version, 2)
    with store.database.transaction(store.workspace_id) as scope:
        begin_run(scope, version, "01J00000000000000000000001")
    began = store.clock.now()
    told = EngineRun(
        "01J00000000000000000000001", "skill-watch", "work", "failed", began.isoformat(), began.isoformat()
    )
    alone = EngineRun(
        "01J00000000000000000000002", "skill-watch", "work", "completed", began.isoformat(), began.isoformat()
    )
    engine = ScriptedEngine([told, alone])

    done = run_review(store, review_dependencies(store, engine=engine))

    found = done.facts["facts"]
    assert (found["runs"], found["completed"], found["failed"]) == (4, 3, 1)
    assert engine.asked[0] == ("skill-watch/work", "2026-03-02T09:00:00Z")


def _call_of(scope: Scope, task_id: str) -> str:
    """A call by which this task wrote a skill."""
    row = scope.first(scope.select(turns.c.id).where(turns.c.task_id == task_id))
    assert row is not None
    call = {"id": f"{row.id}:1:0", "turn_id": row.id, "step": 1, "seq": 0, "tool": "write_skill", "effect": "write"}
    scope.insert(calls, **call, arguments="{}", wish="", status="done", epoch=1)
    return f"{row.id}:1:0"


def _written_by(store: Store, task_id: str, text: str) -> CheckedVersion:
    """A draft that a call of this task wrote, and that now serves."""
    with store.database.transaction(store.workspace_id) as scope:
        call_id = _call_of(scope, task_id)
        version = save_version(scope, "watch", text, "agent")
        wrote = scope.update(skill_versions).where(skill_versions.c.id == version.id)
        scope.change(wrote.values(author_ref=call_id))
        promotion.activate_version(scope, "watch", version)
        tasks.set_task_fields(scope, task_id, status="done")
        return versions.get_version(scope, version.id)


def test_the_next_review_compares_the_prediction_with_what_happened(store: Store) -> None:
    first = save_skill(store)
    record_past_runs(store, first, 8, NOISY)
    proposed = run_review(store, review_dependencies(store, change_verdict(evidence=_evidence(first))))
    assert proposed.task_id is not None
    second = _written_by(store, proposed.task_id, "SENSITIVITY = 0.7\n")

    record_past_runs(store, second, 2, ["real"])
    too_soon = run_review(store, review_dependencies(store))
    with store.database.transaction(store.workspace_id) as scope:
        for n, said in enumerate(["real", "real", "false alarm", "real"]):
            begin_run(scope, second, f"later{n}")
            ask_about_alarm(store, scope, second, f"later{n}", said)
            runs.record_run_end(scope, f"later{n}", "completed", output={}, attempts=1)
    compared = run_review(store, review_dependencies(store, {"decision": "keep"}))
    again = run_review(store, review_dependencies(store, {"decision": "keep"}))

    assert (too_soon.comparison or {})["outcome"] == "too_few"
    assert compared.comparison == {
        "review_id": proposed.id,
        "measure": "false_alarm_rate",
        "was": 0.8,
        "expected": 0.3,
        "happened": 0.2,
        "outcome": "kept",
    }
    assert again.comparison is None
    # After the proposal, and that the change serves:
    assert _notices(store)[2:] == [
        "Review of watch: After the last change, false alarm rate was 80% and should become 30%; "
        "it is 20% since: as predicted."
    ]


def test_a_change_that_brings_an_older_text_back_is_compared_like_any_other(store: Store) -> None:
    # Given a change whose alarms then come too late, and one by which the number becomes what it was
    first = save_skill(store)
    record_past_runs(store, first, 8, NOISY)
    lowered = run_review(store, review_dependencies(store, change_verdict(evidence=_evidence(first))))
    second = _written_by(store, lowered.task_id or "", "SENSITIVITY = 0.5\n")
    record_past_runs(store, second, 8, ["real but too late"] * 5)
    more = {"sensitivity": "more_sensitive", "numbers": [{"constant": "SENSITIVITY", "value": 1.0}]}
    raised = run_review(
        store,
        review_dependencies(
            store, change_verdict(evidence=_evidence(second), **more, measure="late_rate", expected=0.2)
        ),
    )
    with store.database.transaction(store.workspace_id) as scope:
        brought = {"author": "agent", "author_ref": _call_of(scope, raised.task_id or ""), "reason": "too late"}
        promotion.offer_version(scope, "watch", first, brought)
        promotion.activate_version(scope, "watch", first)
        tasks.set_task_fields(scope, raised.task_id or "", status="done")

    # When that has served for a while
    for n in range(6):
        with store.database.transaction(store.workspace_id) as scope:
            begin_run(scope, first, f"later{n}")
            ask_about_alarm(store, scope, first, f"later{n}", "real")
            runs.record_run_end(scope, f"later{n}", "completed", output={}, attempts=1)
    compared = run_review(store, review_dependencies(store, {"decision": "keep"}))

    # Then its prediction is held against what happened since it serves again, and no older alarm counts
    assert raised.prediction == {"measure": "late_rate", "was": 1.0, "expected": 0.2}
    assert compared.comparison is not None
    assert (compared.comparison["review_id"], compared.comparison["outcome"]) == (raised.id, "kept")
    assert (compared.version_id, compared.facts["facts"]["alarms"]) == (first.id, 6)


def test_a_proposal_for_a_persons_file_becomes_the_agents_task_which_asks_before_it_saves(store: Store) -> None:
    version = save_skill(store)
    record_past_runs(store, version, 8, NOISY)
    with store.database.transaction(store.workspace_id) as scope:
        scope.change(scope.update(skill_rows).where(skill_rows.c.id == "watch").values(origin="person"))

    done = run_review(store, review_dependencies(store, change_verdict(evidence=_evidence(version))))

    words, data = _order(store, done)
    assert "write_skill asks them on a card" in words
    assert data["base_version"] == 1
    assert _notices(store)[0].endswith("a card asks before the file is changed.")


def test_a_proposal_for_a_shipped_skill_is_the_agents_to_write_and_its_file_stays(store: Store) -> None:
    version = save_skill(store)
    record_past_runs(store, version, 8, NOISY)
    with store.database.transaction(store.workspace_id) as scope:
        scope.change(scope.update(skill_rows).where(skill_rows.c.id == "watch").values(origin="shipped"))
    proposed = run_review(store, review_dependencies(store, change_verdict(evidence=_evidence(version))))
    words, data = _order(store, proposed)
    own = _written_by(store, proposed.task_id or "", "SENSITIVITY = 0.5\n")
    record_past_runs(store, own, 6)

    compared = run_review(store, review_dependencies(store, {"decision": "keep"}))

    assert "its file stays as it is" in words
    assert data["base_version"] == 1
    assert _notices(store)[0].endswith("The agent is asked to write it; the shipped file stays as it is.")
    assert (compared.comparison or {})["outcome"] == "kept"


def test_while_the_agent_is_at_work_on_a_proposal_no_second_one_is_made(store: Store) -> None:
    version = save_skill(store)
    record_past_runs(store, version, 8, NOISY)
    first = run_review(store, review_dependencies(store, change_verdict(evidence=_evidence(version))))

    second = run_review(store, review_dependencies(store, change_verdict(evidence=_evidence(version))))

    assert (first.task_id is None, second.task_id) == (False, None)
    assert second.verdict is not None
    assert second.verdict["reason"] == "the agent is still at work on an earlier proposal"


def test_a_skill_whose_last_changes_did_not_hold_is_left_to_a_person(store: Store) -> None:
    version = save_skill(store)
    record_past_runs(store, version, 8, NOISY)
    with store.database.transaction(store.workspace_id) as scope:
        for n in (2, 3):
            tried = save_version(scope, "watch", f"SENSITIVITY = {n}\n", "agent")
            promotion.refuse_version(scope, "watch", tried.sha, (SkillProblem(None, "it failed", "mend it"),))

    done = run_review(store, review_dependencies(store, change_verdict(evidence=_evidence(version))))

    assert [one["stage"] for one in done.facts["changes"]] == ["refused", "refused", "active"]
    assert (done.task_id, (done.verdict or {})["reason"]) == (
        None,
        "its last changes did not hold: a person looks at it now",
    )


def test_a_skill_that_changed_while_it_was_judged_is_left_alone(store: Store) -> None:
    version = save_skill(store)
    record_past_runs(store, version, 8, NOISY)
    with store.database.transaction(store.workspace_id) as scope:
        review = reviews.request_review(scope, "watch", "cause")
    dependencies = review_dependencies(store, change_verdict(evidence=_evidence(version)))
    steps.gather_facts(dependencies, store.workspace_id, review.id)
    steps.judge_review(dependencies, store.workspace_id, review.id)
    with store.database.transaction(store.workspace_id) as scope:
        promotion.activate_version(scope, "watch", save_version(scope, "watch", "SENSITIVITY = 2\n"))

    assert steps.act_on_review(dependencies, store.workspace_id, review.id) == "kept"
    with store.database.reading(store.workspace_id) as scope:
        assert tasks.list_tasks(scope) == []


def test_a_run_takes_up_what_was_asked_for_and_makes_no_second_one(store: Store) -> None:
    save_skill(store, "one")
    save_skill(store, "two")
    with store.database.transaction(store.workspace_id) as scope:
        review = reviews.request_review(scope, "one", "by hand")
        assert reviews.request_review(scope, "one", "by hand again").id == review.id
        save_version(scope, "three", "not serving yet")

    begun = reviews.begin_reviews(store.database, store.workspace_id, "run-1")

    assert begun == reviews.begin_reviews(store.database, store.workspace_id, "run-1")
    assert (begun[0], len(begun)) == (review.id, 2)
    assert reviews.begin_reviews(store.database, store.workspace_id, "run-2", "nobody") == []
    assert reviews.begin_reviews(store.database, "ws_elsewhere", "run-2", "one") == []


def test_a_bell_that_comes_again_after_the_review_does_nothing(store: Store) -> None:
    save_skill(store)
    done = run_review(store, review_dependencies(store))

    assert reviews.begin_reviews(store.database, store.workspace_id, "run-2", "watch") == []
    store.clock.advance(timedelta(minutes=2))
    (fresh,) = reviews.begin_reviews(store.database, store.workspace_id, "run-3", "watch")
    assert fresh != done.id


def test_a_lost_bell_is_rung_again_under_new_ids_and_given_up_after_a_day(store: Store) -> None:
    save_skill(store)
    patience = timedelta(seconds=30)
    with store.database.transaction(store.workspace_id) as scope:
        review = reviews.request_review(scope, "watch", "cause")
    assert reviews.watch_reviews(store.database, store.workspace_id, patience) == 0

    for _ in range(40):
        store.clock.advance(timedelta(seconds=31))
        reviews.watch_reviews(store.database, store.workspace_id, patience)
    rung = [one for one in store.bells.ids() if one.startswith(review.id)]
    assert rung[0] == review.id
    assert len(set(rung)) == 7

    store.clock.advance(timedelta(days=1))
    reviews.watch_reviews(store.database, store.workspace_id, patience)
    assert reviews.watch_reviews(store.database, store.workspace_id, patience) == 0
    with store.database.reading(store.workspace_id) as scope:
        assert reviews.get_review(scope, review.id).state == "done"
    assert "did not come to an end" in _notices(store)[0]

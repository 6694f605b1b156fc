"""The engine's word on the end of a run, in the ledger: once, for whichever skill, whoever served it."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import Any

import inngest
import pytest
import sqlalchemy as sa

from core.events import RunFailed, RunFinished
from core.orchestrator.run_facts import queue_time
from core.tables import workspaces
from functions.shell import parse_engine_event
from skills.book import run_days, runs, versions
from skills.book.runs import EndStatus, SkillRun
from skills.book.skill import get_skill
from skills.book.versions import CheckedVersion
from skills.lifecycle import promotion, run_end
from skills.lifecycle.run_end import EndedRun
from skills.tables import skill_runs, skill_versions
from tests.skills.run_errors import ERROR, UNREACHABLE, run_id
from tests.skills.saved_versions import record_run, save_live_version, save_version
from tests.support.databases import START, Store

FAILURES = 3


def version(store: Store, stem: str = "watch", text: str = "1") -> CheckedVersion:
    with store.database.transaction(store.workspace_id) as scope:
        return save_live_version(scope, stem, text)


def begun(store: Store, of: CheckedVersion, name: str, stage: str = "live", status: EndStatus | None = None) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        record_run(scope, of, name, status, stage)


def told(store: Store, name: str, status: EndStatus, **more: Any) -> str:
    """What the ledger makes of the engine's word, which comes twice: the second time is no news."""
    said: dict[str, Any] = {"function": "skill-watch-work", "at": store.clock.now(), **more}
    end = EndedRun(run_id=name, status=status, **said)
    first = run_end.record_engine_end(store.database, end, FAILURES)
    assert run_end.record_engine_end(store.database, end, FAILURES) == ("not ours" if first == "not ours" else "known")
    return first


def kept(store: Store, name: str) -> SkillRun | None:
    with store.database.reading(store.workspace_id) as scope:
        return runs.find_run(scope, name)


def row(store: Store, name: str) -> SkillRun:
    found = kept(store, name)
    assert found is not None
    return found


def test_what_the_sidecar_wrote_down_stays_as_it_is(store: Store) -> None:
    begun(store, version(store), "r1", status="completed")
    before = row(store, "r1")
    store.clock.advance(timedelta(seconds=5))

    assert told(store, "r1", "completed", output="another") == "known"
    assert row(store, "r1") == before


@pytest.mark.parametrize(
    ("status", "more", "output", "error"),
    [
        ("completed", {"output": {"a": 1}}, {"a": 1}, None),
        ("failed", {"error": ERROR}, None, ERROR),
        ("cancelled", {}, None, None),
    ],
)
def test_a_run_whose_end_the_sidecar_missed_ends_at_the_engines_moment(
    store: Store, status: EndStatus, more: dict[str, Any], output: object, error: object
) -> None:
    begun(store, version(store), "r1")
    ended = store.clock.now() + timedelta(seconds=7)
    store.clock.advance(timedelta(hours=1))

    assert told(store, "r1", status, at=ended, **more) == "ended"
    found = row(store, "r1")
    assert (found.status, found.output, found.error, found.ended_at) == (status, output, error, ended)
    assert (found.stage, found.function_id) == ("live", "work")


def test_what_nobody_answered_for_says_nothing_of_a_version(store: Store) -> None:
    one, two = version(store), version(store, text="2")
    for n in range(FAILURES + 1):
        begun(store, two, f"r{n}")
        assert told(store, f"r{n}", "failed", error=UNREACHABLE) == "ended"
    begun(store, one, "first", "canary")
    told(store, "first", "failed", error={"name": "Error", "message": "Unable to reach SDK URL http://x: refused"})

    found = row(store, "r0")
    assert found.error == UNREACHABLE | {"message": "Unable to reach SDK URL"}
    assert (found.status, found.stage, found.attempts) == ("failed", "unserved", 5)
    with store.database.reading(store.workspace_id) as scope:
        assert get_skill(scope, "watch").version_id == two.id
        assert runs.count_runs_by_status(scope, one.id, "canary") == {}


def test_who_answers_cannot_say_that_nobody_did(store: Store) -> None:
    one = version(store)
    with store.database.transaction(store.workspace_id) as scope:
        record_run(scope, one, "r1")
        assert run_end.end_run(scope, "r1", "failed", most=FAILURES, error=UNREACHABLE, attempts=1)

    assert told(store, "r1", "failed", error=UNREACHABLE) == "known"
    assert row(store, "r1").stage == "live"


def test_a_last_answer_that_was_lost_speaks_against_no_version(store: Store) -> None:
    """Given a run that completed, whose answer never reached the engine, and a sidecar that is away from then on."""
    one = version(store)
    for n in range(FAILURES):
        begun(store, one, f"r{n}", status="completed")
        assert told(store, f"r{n}", "failed", error=UNREACHABLE) == "corrected"

    assert (row(store, "r0").status, row(store, "r0").stage) == ("failed", "unserved")
    with store.database.reading(store.workspace_id) as scope:
        assert get_skill(scope, "watch").version_id == one.id
        assert runs.count_failures_in_a_row(scope, one.id, "work", FAILURES) == 0


@pytest.mark.parametrize("name", ["busy", "database_away", "process_lost", "state_missing"])
def test_what_the_sidecar_answers_where_it_cannot_ask_the_skill_speaks_against_no_version(
    store: Store, name: str
) -> None:
    begun(store, version(store), "r1")

    assert told(store, "r1", "failed", error={"error": "500", "name": name, "message": "x"}) == "ended"
    assert row(store, "r1").stage == "unserved"


def test_the_engine_has_the_last_word(store: Store) -> None:
    begun(store, version(store), "r1", status="completed")
    begun(store, version(store), "r2", status="lost")

    assert told(store, "r1", "failed", error=ERROR) == "corrected"
    assert told(store, "r2", "cancelled") == "corrected"
    found = row(store, "r1")
    assert (found.status, found.output, found.error) == ("failed", None, ERROR)
    assert row(store, "r2").status == "cancelled"


def test_a_run_that_was_never_called_for_counts_to_the_version_of_its_time_and_says_nothing_of_it(store: Store) -> None:
    one = version(store)
    store.clock.advance(timedelta(minutes=1))
    queued = store.clock.now()
    store.clock.advance(timedelta(minutes=1))
    two = version(store, text="2")
    event = {"name": "a/b", "data": {"n": 1}}
    names = [run_id(queued, n) for n in range(FAILURES + 1)]

    for name in names:
        assert told(store, name, "failed", error=UNREACHABLE, event=event) == "entered"

    found = row(store, names[0])
    assert (found.version_id, found.stage, found.function_id, found.event) == (one.id, "unserved", "work", event)
    assert (found.began_at, found.ended_at, found.attempts) == (queued, store.clock.now(), 5)
    late = run_id(store.clock.now())
    told(store, late, "failed", error=UNREACHABLE)
    assert row(store, late).version_id == two.id
    with store.database.reading(store.workspace_id) as scope:
        assert not runs.has_history(scope, "watch")
    begun(store, two, "seen", status="failed")
    with store.database.transaction(store.workspace_id) as scope:
        assert runs.count_failures_in_a_row(scope, two.id, "work", 9) == 1
        assert get_skill(scope, "watch").status == "active"
        assert runs.compute_rates(scope, "watch", START).failed == FAILURES + 3


def test_too_many_failures_that_only_the_engine_told_of_end_a_versions_service(store: Store) -> None:
    one, two = version(store), version(store, text="2")
    for n in range(FAILURES):
        begun(store, two, f"r{n}")
        assert told(store, f"r{n}", "failed", error=ERROR) == "ended"

    with store.database.reading(store.workspace_id) as scope:
        assert get_skill(scope, "watch").version_id == one.id
        assert versions.get_version(scope, two.id).stage == "quarantined"


def test_a_function_is_a_handler_of_failures_by_its_registration_and_not_by_its_name(store: Store) -> None:
    """Its failures count like any other's, and its first runs as those of a change that is tried."""
    with store.database.transaction(store.workspace_id) as scope:
        named = save_version(scope, "watch", "1", function_id="disk-failure")
        promotion.activate_version(scope, "watch", named)
        record_run(scope, named, "first", "completed", "canary", "disk-failure")
        assert runs.count_runs_by_status(scope, named.id, "canary") == {"completed": 1}
        assert [one.run_id for one in runs.list_completed_runs(scope, named.id, 5)] == ["first"]
        assert run_days.count_runs_by_day(scope, "watch", UTC, 1)[0].completed == 1
        for n in range(FAILURES):
            record_run(scope, named, f"r{n}", None, "live", "disk-failure")
    for n in range(FAILURES):
        assert told(store, f"r{n}", "failed", function="skill-watch-disk-failure", error=ERROR) == "ended"

    with store.database.reading(store.workspace_id) as scope:
        assert get_skill(scope, "watch").status == "quarantined"


def test_what_a_handler_of_failures_came_to_is_not_counted(store: Store) -> None:
    handles = {"id": "skill-watch-work-failure", "triggers": [{"event": "inngest/function.failed"}]}
    with store.database.transaction(store.workspace_id) as scope:
        one = save_live_version(scope, "watch", "1")
        functions = [*one.functions, handles]
        scope.change(scope.update(skill_versions).where(skill_versions.c.id == one.id).values(functions=functions))
        one = versions.get_version(scope, one.id)
        for n in range(FAILURES):
            record_run(scope, one, f"r{n}", None, "live", "work-failure")
    for n in range(FAILURES):
        told(store, f"r{n}", "failed", function="skill-watch-work-failure", error=ERROR)
    told(store, "alone", "failed", function="skill-watch-work-failure", error=UNREACHABLE)

    with store.database.reading(store.workspace_id) as scope:
        assert get_skill(scope, "watch").status == "active"
        assert runs.compute_rates(scope, "watch", START).ended == 0
        assert [row(store, name).handler for name in ("r0", "alone")] == [True, True]


def test_a_candidate_that_waits_for_its_first_runs_is_looked_at_again(store: Store) -> None:
    one = version(store)
    with store.database.transaction(store.workspace_id) as scope:
        two = save_version(scope, "watch", "2", "agent")
        promotion.set_candidate_stage(scope, "watch", two, "canary")
        before = get_skill(scope, "watch").epoch
    begun(store, two, "r1", "canary")
    told(store, "r1", "failed", error=ERROR)

    with store.database.reading(store.workspace_id) as scope:
        skill = get_skill(scope, "watch")
        assert (skill.epoch, skill.version_id) == (before + 1, one.id)
        assert runs.count_runs_by_status(scope, two.id, "canary") == {"failed": 1}


def test_functions_of_others_on_the_same_engine_leave_no_row(store: Store) -> None:
    version(store)
    for function in ("skill-theirs-work", "skill-watch-never-had", "skill-watchman-work"):
        assert told(store, "r1", "failed", function=function, error=ERROR) == "not ours"
    assert kept(store, "r1") is None


def test_of_two_stems_that_fit_the_one_with_the_function_is_meant(store: Store) -> None:
    version(store, "night")
    longer = version(store, "night-watch")
    told(store, "r1", "cancelled", function="skill-night-watch-work")

    with store.database.transaction(store.workspace_id) as scope:
        other = save_version(scope, "night", "3")
        functions = [{"id": "skill-night-watch-late", "triggers": [{"event": "a/b"}]}]
        scope.change(scope.update(skill_versions).where(skill_versions.c.id == other.id).values(functions=functions))
        promotion.activate_version(scope, "night", versions.get_version(scope, other.id))
    told(store, "r2", "cancelled", function="skill-night-watch-late")

    assert row(store, "r1").version_id == longer.id
    assert (row(store, "r2").version_id, row(store, "r2").function_id) == (other.id, "watch-late")


def test_rows_of_another_workspace_are_not_touched(store: Store) -> None:
    theirs = version(store)
    with store.database.unscoped() as connection:
        other = {"id": "ws_other", "name": "O", "timezone": "UTC", "change_seq": 0, "created_at": store.clock.now()}
        connection.execute(sa.insert(workspaces).values(**other))
    with store.database.transaction("ws_other") as scope:
        record_run(scope, theirs, "r1")

    assert told(store, "r1", "cancelled") == "entered"
    with store.database.reading("ws_other") as scope:
        assert [one.status for one in scope.rows(scope.select(skill_runs.c.status))] == ["running"]


def test_an_id_tells_when_its_run_was_queued() -> None:
    assert queue_time(run_id(START)) == START
    for other in ("", "run1", run_id(START).lower(), "8" + "Z" * 25, run_id(START) + "0"):
        assert queue_time(other) is None


def _event(name: str, **data: Any) -> inngest.Event:
    return inngest.Event(name=name, data=data, ts=int(START.timestamp() * 1000))


def test_only_the_engines_own_events_are_its_word() -> None:
    data = {"function_id": "skill-watch-work", "run_id": "r1", "_inngest": {"status": "Cancelled"}}

    said = parse_engine_event(RunFinished, _event(RunFinished.name, **data))

    assert (said.status, said.at, said.run_id) == ("cancelled", START, "r1")
    for forged in (
        _event("inngest/function.invoked", **data),
        _event("watch/asked", **data),
        _event(RunFailed.name, **data),
        _event(RunFinished.name, **data | {"_inngest": {"status": "Waiting"}}),
        _event(RunFinished.name, **data | {"_inngest": None}),
        _event(RunFinished.name, **data | {"run_id": "x" * 65}),
        _event(RunFinished.name),
    ):
        with pytest.raises(inngest.NonRetriableError):
            parse_engine_event(RunFinished, forged)
    with pytest.raises(inngest.NonRetriableError):
        parse_engine_event(RunFailed, _event("inngest/function.invoked", **data))

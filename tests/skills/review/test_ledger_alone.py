"""Where the engine's history is gone or does not answer, the ledger gives a review the same numbers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from core.errors import RefusedError, UnavailableError
from core.orchestrator.run_history import EngineRun, RunPage
from skills.book import runs
from skills.book.runs import EndStatus
from skills.book.versions import CheckedVersion
from skills.lifecycle import run_end
from skills.lifecycle.run_end import EndedRun
from skills.review.history import MOST_RUNS
from tests.skills.review.history import (
    ScriptedEngine,
    ask_about_alarm,
    begin_run,
    record_past_runs,
    review_dependencies,
    run_review,
    save_skill,
)
from tests.skills.run_errors import ERROR, UNREACHABLE, run_id
from tests.support.databases import Store

DECIDES: dict[str, object] = {"decision": "keep"}


class Silent:
    """An engine that gives no history: it is away, older than its lists, or refuses our key."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def page(self, *asked: object) -> RunPage:
        raise self._error


def lived(store: Store, version: CheckedVersion) -> list[EngineRun]:
    """Runs that ended in every way, most with a question to people; the engine's memory of them."""
    told: list[EngineRun] = []
    ways: tuple[tuple[EndStatus, bool, bool, int], ...] = (
        # How it ended; whether the skill was called for it; whether the sidecar gave the last answer; its attempts.
        *[("completed", True, True, 1 + n % 3) for n in range(6)],
        ("failed", True, True, 4),
        ("failed", True, False, 0),
        ("completed", True, False, 0),
        ("cancelled", True, False, 0),
        *[("failed", False, False, 0) for _ in range(2)],
        ("cancelled", False, False, 0),
    )
    for n, (status, was_called, has_answered, attempts) in enumerate(ways):
        began = store.clock.now()
        name = run_id(began, n)
        if was_called:
            with store.database.transaction(store.workspace_id) as scope:
                begin_run(scope, version, name)
                ask_about_alarm(store, scope, version, name, ["false alarm", "real", None][n % 3])
        store.clock.advance(timedelta(seconds=2 + n))
        error = (ERROR if was_called else UNREACHABLE) if status == "failed" else None
        if has_answered:
            with store.database.transaction(store.workspace_id) as scope:
                runs.record_run_end(scope, name, status, output={"measured": n}, error=error, attempts=attempts)
        now = store.clock.now()
        told.append(EngineRun(name, "skill-watch", "work", status, began.isoformat(), now.isoformat()))
        # The engine's word arrives when somebody is there to hear it.
        store.clock.advance(timedelta(minutes=30))
        run_end.record_engine_end(store.database, EndedRun("skill-watch-work", name, status, now, error=error), 99)
    store.clock.advance(timedelta(days=2))
    return told


def numbers(store: Store, engine: Any) -> dict[str, Any]:
    done = run_review(store, review_dependencies(store, DECIDES, engine=engine))
    found = dict(done.facts["facts"])
    assert done.state == "done"
    return found


def test_every_number_is_the_same_with_the_history_and_without(store: Store) -> None:
    told = lived(store, save_skill(store))

    with_history = numbers(store, ScriptedEngine(told))

    counted = [with_history[name] for name in ("runs", "ended", "completed", "failed")]
    assert counted == [13, 11, 7, 4]
    # Of those that nobody answered the engine tried each five times.
    assert with_history["retries"] == 17
    assert (with_history["false_alarms"], with_history["real"], with_history["ignored"]) == (4, 3, 3)
    assert len(with_history["repeated_failures"]) == 2
    for gone in (
        ScriptedEngine(),
        ScriptedEngine(told[:5]),
        Silent(UnavailableError("this engine lists no runs")),
        Silent(RefusedError("the engine refuses our key")),
    ):
        assert numbers(store, gone) == with_history


def test_a_run_that_was_skipped_is_none_with_the_history_and_without(store: Store) -> None:
    version = save_skill(store)
    record_past_runs(store, version, 5)
    began = store.clock.now()
    with store.database.transaction(store.workspace_id) as scope:
        begin_run(scope, version, "again")
        runs.record_run_end(scope, "again", "completed", output={"skipped": "ran already"}, stage=runs.SKIPPED)
    told = [EngineRun("again", "skill-watch", "work", "completed", began.isoformat(), began.isoformat())]

    for engine in (ScriptedEngine(told), ScriptedEngine()):
        found = numbers(store, engine)
        assert (found["runs"], found["completed"]) == (5, 5)


def test_the_runs_of_one_function_leave_those_of_another_in_sight(store: Store) -> None:
    version = save_skill(store)
    record_past_runs(store, version, 6)
    handler: dict[str, Any] = {"skill_id": "watch", "function_id": "work-failure", "version_id": version.id}
    handler |= {"stage": "live", "handler": True}
    with store.database.transaction(store.workspace_id) as scope:
        for n in range(MOST_RUNS):
            runs.record_run_start(scope, run_id=f"handler{n}", event={}, **handler)

    assert numbers(store, ScriptedEngine())["completed"] == 6

"""The engine has the last word on a run; what the sidecar could not serve speaks against no version."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from core.orchestrator.engine import Engine
from sidecar.jail.isolation import Isolation, Level
from sidecar.jail.jail import Jail
from sidecar.pool.spawner import ClosedBroker, Spawner
from sidecar.protocol.replies import EngineReply
from sidecar.rollout.dependencies import SidecarDependencies
from sidecar.rollout.run_versions import KnownAnswer, RunCall
from sidecar.rollout.served_skill import ServedSkill
from sidecar.serve.call import answer_engine_call, turn_away_call
from skills.book import runs
from skills.book.runs import MAX_JSON_BYTES, EndStatus, SkillRun
from skills.book.skill import get_skill
from skills.book.versions import CheckedVersion
from skills.lifecycle.decision import Trial
from tests.sidecar.local_registry import open_gate
from tests.skills.saved_versions import save_live_version
from tests.support.databases import Store

CALL = RunCall("r1", "work", {"name": "a/b", "data": {}})
NO_ENGINE = Engine.at("http://127.0.0.1:9")


@pytest.fixture
def skill(store: Store, tmp_path: Path) -> Iterator[ServedSkill]:
    """One that serves, of which no process can be started."""
    nowhere = Isolation(
        Level.LIMITS, own_user=False, own_network=False, counts_processes=False, interpreter=str(tmp_path / "none")
    )
    spawner = Spawner(Jail(tmp_path / "jail", nowhere), ClosedBroker())
    with store.database.transaction(store.workspace_id) as scope:
        save_live_version(scope, "watch", "1")
    with ThreadPoolExecutor(1) as checkers:
        dependencies = SidecarDependencies(store.database, NO_ENGINE, "", spawner, open_gate, never_tried, checkers)
        yield ServedSkill("watch", dependencies, lambda: None, lambda: None)
    spawner.stop()


def never_tried(version: CheckedVersion, runs: list[SkillRun], *, live: bool) -> Trial:
    raise AssertionError(f"{version.id} is not tried here: {len(runs)}, {live}")


def row(store: Store) -> SkillRun:
    with store.database.reading(store.workspace_id) as scope:
        found = runs.find_run(scope, CALL.run_id)
    assert found is not None
    return found


def asked(skill: ServedSkill, attempt: int) -> EngineReply:
    return answer_engine_call(skill, NO_ENGINE, "/api/inngest/watch", *called(attempt), {})


def called(attempt: int) -> tuple[str, bytes]:
    """The query and the body of a call of the engine, for a run of four attempts."""
    ctx = {"run_id": CALL.run_id, "attempt": attempt, "max_attempts": 4}
    body: dict[str, Any] = {"ctx": ctx, "event": CALL.event, "events": [CALL.event], "steps": {}}
    return "fnId=skill-watch-work&stepId=step", json.dumps(body).encode()


@pytest.mark.parametrize("output", [{"a": 1}, None, "done", {"skipped": "ran already"}])
def test_a_run_that_completed_is_answered_again_and_not_done_again(
    store: Store, skill: ServedSkill, output: object
) -> None:
    """Given a last answer that the engine lost, when it calls again, then no process is asked and all stays so."""
    assert isinstance(skill.runs.version_for(CALL), CheckedVersion)
    skill.runs.record_end(CALL.run_id, "completed", output=output, attempts=1)
    before = row(store)

    reply = asked(skill, 1)

    assert (reply.status, json.loads(reply.body)) == (200, output)
    assert skill.runs.version_for(CALL) == KnownAnswer(output)
    assert (row(store).status, row(store).output, row(store).ended_at) == ("completed", output, before.ended_at)


@pytest.mark.parametrize(
    ("status", "output"), [("completed", "x" * 2 * MAX_JSON_BYTES), ("failed", None), ("lost", None)]
)
def test_a_run_that_the_engine_goes_on_with_is_running(
    store: Store, skill: ServedSkill, status: EndStatus, output: object
) -> None:
    version = skill.runs.version_for(CALL)
    skill.runs.record_end(CALL.run_id, status, output=output, error={"name": "x"}, attempts=1)

    assert skill.runs.version_for(CALL) == version
    found = row(store)
    assert (found.status, found.output, found.error, found.ended_at) == ("running", None, None, None)


def test_a_call_that_comes_late_for_a_cancelled_run_does_not_bring_it_back(store: Store, skill: ServedSkill) -> None:
    skill.runs.version_for(CALL)
    skill.runs.record_end(CALL.run_id, "cancelled")

    assert isinstance(skill.runs.version_for(CALL), CheckedVersion)
    assert row(store).status == "cancelled"


@pytest.mark.parametrize("is_busy", [True, False])
def test_what_the_sidecar_cannot_serve_is_asked_for_later_and_speaks_against_no_version(
    store: Store, skill: ServedSkill, is_busy: bool
) -> None:
    """Given a skill without a place or without a process, when the last attempt ends so, then nobody served the run."""
    skill.runs.version_for(CALL)

    for attempt in range(4):
        assert row(store).status == "running"
        reply = turn_away_call(skill, *called(attempt)) if is_busy else asked(skill, attempt)
        assert (reply.status, reply.headers["retry-after"]) == (503, "30")

    found = row(store)
    assert (found.status, found.stage) == ("failed", "unserved")
    assert found.error["name"] == ("busy" if is_busy else "process_lost")
    with store.database.reading(store.workspace_id) as scope:
        assert get_skill(scope, "watch").status == "active"
        assert runs.count_failures_in_a_row(scope, found.version_id, "work", 3) == 0


def test_what_is_no_call_is_no_run(skill: ServedSkill) -> None:
    assert turn_away_call(skill, "", b"no call").status == 400
    assert answer_engine_call(skill, NO_ENGINE, "/", "", b"{}", {}).status == 400

"""Schedules of skills while files are saved, deleted, re-timed and renamed; daily ones begin once a date.

The engine's clock is moved here, which only the embedded one allows: `test_real_ticks.py` is for the others.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest

from core.orchestrator.engine import bearer_of_key
from core.orchestrator.signature import SIGNATURE_HEADER, canonical_body, sign_body
from skills.book import runs
from skills.folders import SHIPPED_FOLDER
from tests.support.engines import SIGNING_KEY, RunningEngine, moved_by_tests, running
from tests.support.prometheus import prometheus
from tests.support.sidecar import RunningSidecar, hello, sidecar
from tests.support.waiting import until

pytestmark = pytest.mark.long

SCHEDULED = '''"""Says when it was scheduled."""
import inngest
from skills.kit import client

MANIFEST = {{"title": "Scheduled", "purpose": "by the clock", "permissions": {{}}}}

@client.create_function(fn_id="{fn_id}", trigger=inngest.TriggerCron(cron="{cron}"), retries=5)
def scheduled(ctx: inngest.ContextSync) -> object:
    return ctx.event.data["scheduledAt"]
'''


class Clock:
    """The engine's clock, moved by the test."""

    def __init__(self, engine: RunningEngine) -> None:
        self._url = f"{engine.url}/test/clock"
        self._headers = {"authorization": bearer_of_key(str(engine.signing_key))}

    def now(self) -> datetime:
        return datetime.fromisoformat(httpx.get(self._url, headers=self._headers).json()["now"])

    def advance(self, minutes: int) -> None:
        body = {"advance": f"{minutes}m"}
        httpx.post(self._url, json=body, headers=self._headers, timeout=60).raise_for_status()


@pytest.fixture(scope="module")
def clocked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningSidecar, Clock]]:
    with running(moved_by_tests(tmp_path_factory.mktemp("engine"))) as engine:
        home: Path = tmp_path_factory.mktemp("home")
        with sidecar(engine, home, {"LOOPWRIGHT_CLOCK_URL": f"{engine.url}/test/clock"}) as skills:
            yield skills, Clock(engine)


def scheduled(cron: str, fn_id: str = "scheduled") -> str:
    return SCHEDULED.format(cron=cron, fn_id=fn_id)


def ticks(skills: RunningSidecar, function: str, count: int) -> list[datetime]:
    """The moments for which a function was scheduled, at least `count` of them."""
    return sorted(datetime.fromisoformat(one) for one in skills.outputs(function, count, 60))


@pytest.mark.boundary(65)
def test_saving_one_skill_costs_no_other_a_tick(clocked: tuple[RunningSidecar, Clock]) -> None:
    skills, clock = clocked
    skills.save("steady", scheduled("* * * * *"))
    skills.save("edited", hello(0, "edited/asked"))
    skills.live("steady", 1)
    skills.live("edited", 1)
    for minute in range(1, 7):
        text = "def broken(:\n" if minute % 3 == 0 else hello(minute, "edited/asked")
        skills.save("edited", text)
        clock.advance(1)
    found = ticks(skills, "skill-steady/scheduled", 6)
    assert len(found) == 6
    assert {later - earlier for earlier, later in pairwise(found)} == {timedelta(minutes=1)}


@pytest.mark.case("B16")
def test_a_deleted_or_rescheduled_skill_leaves_its_old_schedule(
    clocked: tuple[RunningSidecar, Clock],
) -> None:
    skills, clock = clocked
    skills.save("leaving", scheduled("* * * * *"))
    skills.save("timed", scheduled("*/5 * * * *"))
    skills.live("leaving", 1)
    skills.live("timed", 1)
    clock.advance(5)
    gone, old = ticks(skills, "skill-leaving/scheduled", 5), ticks(skills, "skill-timed/scheduled", 1)
    (skills.folder / "leaving.py").unlink()
    until("retirement", lambda: skills.skill("leaving")["status"] == "retired", 60)
    skills.save("timed", scheduled("0 8 1 1 *"))
    skills.live("timed", 2)
    clock.advance(10)
    skills.save("timed", scheduled("0 8 1 1 *", "renamed"))
    skills.live("timed", 3)
    clock.advance(10)
    assert ticks(skills, "skill-leaving/scheduled", 1) == gone
    assert ticks(skills, "skill-timed/scheduled", 1) == old
    assert skills.runs("skill-timed/renamed") == []
    # The old file comes back: one schedule again, not two.
    skills.save("timed", scheduled("*/5 * * * *"))
    until("the first version again", lambda: skills.skill("timed")["version"] == 1, 60)
    clock.advance(10)
    fresh = ticks(skills, "skill-timed/scheduled", len(old) + 2)[len(old) :]
    assert len(fresh) == 2
    assert fresh[1] - fresh[0] == timedelta(minutes=5)


def test_a_daily_schedule_begins_once_a_local_date_whatever_the_engine_does(
    clocked: tuple[RunningSidecar, Clock],
) -> None:
    skills, clock = clocked
    cron = "TZ=America/New_York 30 1 * * *"
    skills.save("daily", scheduled(cron).replace("    return", '    ctx.step.run("note", lambda: 1)\n    return'))
    skills.live("daily", 1)
    # An hour that comes twice: 01:30 in New York before and after the clocks went back.
    first, second = datetime(2026, 11, 1, 5, 30, tzinfo=UTC), datetime(2026, 11, 1, 6, 30, tzinfo=UTC)
    assert called(skills, clock, cron, "run_1", first).status_code == 206
    skipped = called(skills, clock, cron, "run_2", second)
    assert (skipped.status_code, skipped.json()) == (200, {"skipped": "ran on 2026-11-01 already"})
    assert called(skills, clock, cron, "run_1", first).status_code == 206
    assert called(skills, clock, cron, "run_2", second).json() == skipped.json()
    assert called(skills, clock, cron, "run_3", first + timedelta(days=1)).status_code == 206
    # It is no success of the version, nor anything else that counts.
    with skills.reading() as scope:
        refused = runs.find_run(scope, "run_2")
        assert refused is not None
        assert (refused.stage, runs.compute_rates(scope, "daily", refused.began_at - timedelta(days=1)).ended) == (
            "skipped",
            0,
        )
        assert not runs.has_history(scope, "daily")
    # A second daily schedule of the function, or this one at a later hour, has its own run of the date.
    evening, later = "TZ=America/New_York 30 20 * * *", first + timedelta(hours=19)
    assert called(skills, clock, evening, "run_4", later).status_code == 206
    assert called(skills, clock, evening, "run_5", later).json() == skipped.json()


@pytest.mark.case("B16")
def test_a_tick_that_comes_when_the_skill_is_gone_is_no_failure(
    clocked: tuple[RunningSidecar, Clock],
) -> None:
    """The engine was away while the file was deleted: it calls for a tick before it is told."""
    skills, clock = clocked
    skills.save("departed", scheduled("* * * * *"))
    skills.live("departed", 1)
    (skills.folder / "departed.py").unlink()
    until("retirement", lambda: skills.skill("departed")["status"] == "retired", 60)
    late = called(skills, clock, "* * * * *", "run_late", clock.now(), stem="departed")
    assert (late.status_code, late.json()) == (200, {"skipped": "the skill is gone or turned off"})
    by_event = called(skills, clock, "", "run_event", clock.now(), stem="departed", name="departed/asked")
    assert (by_event.status_code, by_event.headers["x-inngest-no-retry"]) == (500, "true")
    with skills.reading() as scope:
        assert (runs.find_run(scope, "run_late"), runs.find_run(scope, "run_event")) == (None, None)


def test_a_tick_of_its_own_schedule_runs_the_shipped_health_check(clocked: tuple[RunningSidecar, Clock]) -> None:
    skills, clock = clocked
    shipped = (SHIPPED_FOLDER / "infra_health_check.py").read_text()
    with prometheus() as metrics:
        skills.save("health", shipped.replace("127.0.0.1:9090", metrics.address))
        skills.answer("health", "grant")
        skills.live("health", 1)
        assert skills.runs("skill-health/infra-health-check") == []
        clock.advance(30)
        found = skills.outputs("skill-health/infra-health-check", 1, 60)[0]
        assert (found["status"], found["by"]) == ("normal", "rules")
        assert len(metrics.queries) == 4
    with skills.reading() as scope:
        (run,) = runs.list_skill_runs(scope, "health")
        assert (run.event["name"], run.event["data"]["cron"]) == ("inngest/scheduled.timer", "*/30 * * * *")


def called(
    skills: RunningSidecar,
    clock: Clock,
    cron: str,
    run_id: str,
    at: datetime,
    *,
    stem: str = "daily",
    name: str = "inngest/scheduled.timer",
) -> httpx.Response:
    """What the engine would ask for a run of the schedule of that moment, or of another event."""
    data = {"cron": cron, "scheduledAt": at.isoformat()}
    event: dict[str, Any] = {"name": name, "data": data, "id": run_id, "ts": 0}
    stack: dict[str, Any] = {"current": 0, "stack": []}
    ctx = {"run_id": run_id, "attempt": 0, "max_attempts": 6, "disable_immediate_execution": False, "stack": stack}
    body = json.dumps({"ctx": ctx, "event": event, "events": [event], "steps": {}, "use_api": False}).encode()
    headers = {
        SIGNATURE_HEADER: sign_body(SIGNING_KEY, canonical_body(body), clock.now()),
        "content-type": "application/json",
    }
    url = f"{skills.url}/api/inngest/{stem}?fnId=skill-{stem}-scheduled&stepId=step"
    return httpx.post(url, content=body, headers=headers, timeout=60)

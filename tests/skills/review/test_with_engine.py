"""Review and failures as durable functions on real engines: their history, bells, and the weekly schedule."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import httpx
import inngest

from core.clock import Clock, SystemClock
from core.database import Database
from core.llm.scripted_model import ScriptedModel
from core.orchestrator.bells import InngestBells
from core.orchestrator.engine import Engine, bearer_of_key
from core.orchestrator.remote_clock import RemoteClock
from core.orchestrator.run_history import RunHistory
from functions.on_run_failed import on_run_failed
from functions.review_skills import review_skills
from runtime import notices
from runtime.tasks import tasks
from skills.book.versions import CheckedVersion
from skills.review import reviews
from skills.review.dependencies import ReviewDependencies
from skills.review.reviews import Review
from tests.skills.saved_versions import save_live_version
from tests.support.databases import Store, prepared_file
from tests.support.engines import RunningEngine, every_engine, moved_by_tests, running
from tests.support.function_app import client_of, served
from tests.support.waiting import until


@dataclass
class ReviewWorld:
    store: Store
    engine: Engine
    version: CheckedVersion

    def send(self, name: str, data: dict[str, Any]) -> None:
        self.engine.send(name, data)

    def reviews(self) -> list[Review]:
        with self.store.database.reading(self.store.workspace_id) as scope:
            return reviews.list_reviews(scope, "watch")

    def notices(self) -> list[str]:
        with self.store.database.reading(self.store.workspace_id) as scope:
            return [notice.text for notice in notices.list_newest_notices(scope)]

    def tasks(self) -> list[tasks.Task]:
        with self.store.database.reading(self.store.workspace_id) as scope:
            return tasks.list_tasks(scope)


def watch_skill(client: inngest.Inngest) -> inngest.Function[Any]:
    """What a sidecar would serve for the skill `watch`."""

    @client.create_function(fn_id="work", trigger=inngest.TriggerEvent(event="watch/asked"), retries=0)
    def work(ctx: inngest.ContextSync) -> str:
        if ctx.event.data.get("fails"):
            raise inngest.NonRetriableError("the metrics are nonsense")
        return "well"

    return work


@contextmanager
def world(engine_of: RunningEngine, folder: Path, clock: Clock) -> Iterator[ReviewWorld]:
    engine = Engine.at(engine_of.url, engine_of.signing_key, engine_of.event_key)
    own, foreign = (client_of(engine_of, app) for app in ("loopwright", "skill-watch"))
    store = prepared_file(folder / "live.sqlite")
    store.database.close()
    store.database = Database(store.database.url, clock=clock, bells=InngestBells(own))
    with store.database.transaction(store.workspace_id) as scope:
        version = save_live_version(scope, "watch", "SENSITIVITY = 1.0\n", "agent")
    model = ScriptedModel(verdicts=[{"decision": "keep", "summary": "it does well"}])
    dependencies = ReviewDependencies(store.database, model, RunHistory.of(engine))
    with ExitStack() as stack:
        stack.callback(store.database.close)
        functions: list[inngest.Function[Any]] = [
            review_skills(own, dependencies, "Europe/Paris"),
            on_run_failed(own, dependencies),
        ]
        stack.enter_context(served(own, functions, engine, clock))
        stack.enter_context(served(foreign, [watch_skill(foreign)], engine, clock))
        yield ReviewWorld(store, engine, version)


@every_engine
def test_runs_are_read_from_the_engine_and_a_failed_one_becomes_a_repair(
    any_engine: RunningEngine, tmp_path: Path
) -> None:
    with world(any_engine, tmp_path, SystemClock()) as here:
        for n in range(6):
            here.send("watch/asked", {"n": n})
        here.send("watch/asked", {"fails": True})

        until("the repair", here.tasks, 40)
        (task,) = here.tasks()
        assert (task.goal.startswith("Repair the skill watch"), task.asked_by) == (True, "program")
        (told,) = here.notices()
        assert "skill-watch-work failed: NonRetriableError: the metrics are nonsense" in told
        assert '"fails": true' in told

        with here.store.database.transaction(here.store.workspace_id) as scope:
            review = reviews.request_review(scope, "watch", "by hand")
        until("the review", lambda: here.reviews()[0].state == "done", 40)
        done = here.reviews()[0]
        found = done.facts["facts"]
        assert (done.id, done.cause) == (review.id, "by hand")
        assert (found["ended"], found["completed"], found["failed"]) == (7, 6, 1)
        assert found["median_seconds"] is not None
        assert (done.verdict or {})["reason"] == "it does well"


def _friday_at_ten(after: datetime) -> datetime:
    """The next one in Paris, told in UTC."""
    there = after.astimezone(ZoneInfo("Europe/Paris")).replace(hour=10, minute=0, second=0, microsecond=0)
    while there.weekday() != 4 or there <= after:
        there += timedelta(days=1)
    return there.astimezone(UTC)


def test_the_review_comes_on_fridays_at_ten_in_the_workspaces_zone(tmp_path: Path) -> None:
    with running(moved_by_tests(tmp_path)) as engine:
        shown = {"authorization": bearer_of_key(str(engine.signing_key))}
        address = f"{engine.url}/test/clock"
        clock = RemoteClock(address, str(engine.signing_key))

        def move(to: datetime) -> None:
            httpx.post(address, json={"now": to.isoformat()}, headers=shown, timeout=60).raise_for_status()

        with world(engine, tmp_path, clock) as here:
            first = _friday_at_ten(clock.now())
            move(first - timedelta(seconds=1))
            assert here.reviews() == []
            move(first + timedelta(seconds=1))
            until("the first Friday's review", lambda: [one.state for one in here.reviews()] == ["done"], 30)
            move(_friday_at_ten(clock.now()) + timedelta(seconds=1))
            until("the next Friday's review", lambda: [one.state for one in here.reviews()] == ["done", "done"], 30)
        assert all("no run has ended" in (one.verdict or {})["reason"] for one in here.reviews())

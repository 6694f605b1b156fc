"""Two engine processes on one PostgreSQL."""

import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from typing import Any

import inngest
import pytest
import sqlalchemy as sa

from tests.engine.clients import make_client
from tests.engine.conftest import ServeApp
from tests.engine.engine_process import EngineProcess
from tests.engine.waiting import eventually

pytestmark = pytest.mark.postgres


@pytest.fixture
def two_engines(postgres_url: str) -> Iterator[tuple[EngineProcess, EngineProcess]]:
    pair = tuple(EngineProcess(postgres_url, "--lease", "1").start() for _ in range(2))
    yield pair[0], pair[1]
    for process in pair:
        process.close()


def test_one_takes_over_what_the_other_was_doing_when_it_died(
    two_engines: tuple[EngineProcess, EngineProcess], serve: ServeApp
) -> None:
    # Given two engines, an app registered with one, and runs that came through each
    one, two = two_engines
    client = make_client(one)
    attempts: list[int] = []
    counts: dict[str, int] = {}
    in_step, go_on = threading.Event(), threading.Event()

    @client.create_function(
        fn_id="fn",
        trigger=inngest.TriggerEvent(event=f"{client.app_id}/go"),
        concurrency=[inngest.Concurrency(limit=5)],
    )
    def fn(ctx: inngest.ContextSync) -> object:
        name = str(ctx.event.data["name"])

        def count(step: str) -> str:
            counts[f"{name}-{step}"] = counts.get(f"{name}-{step}", 0) + 1
            return step

        def hold() -> str:
            if name == "held":
                attempts.append(ctx.attempt)
                in_step.set()
                go_on.wait(20)
            return count("hold")

        ctx.step.run("before", lambda: count("before"))
        ctx.step.run("hold", hold)
        ctx.step.sleep("nap", timedelta(seconds=1))
        return ctx.step.run("after", lambda: count("after"))

    serve(one, client, [fn])
    eventually(lambda: two.get(f"/v1/apps/{client.app_id}/functions"))
    name = f"{client.app_id}/go"
    (held,) = one.send({"name": name, "data": {"name": "held"}})
    eventually(in_step.is_set)
    ids = [held]
    for n in range(6):
        ids += (one, two)[n % 2].send({"name": name, "data": {"name": f"r{n}"}})
    # When the first is killed while a step of its runs
    one.kill()
    go_on.set()
    # Then the second ends all of them, and only the step in flight ran twice, as the same attempt
    assert [two.ended_run(event_id, within=40)["output"] for event_id in ids] == ["after"] * 7
    assert attempts == [0, 0]
    repeated = {key for key, times in counts.items() if times > 1}
    assert "held-before" not in repeated
    assert all(times <= 2 for times in counts.values())
    # And slots were given back: a new run is not held up
    (late,) = two.send({"name": name, "data": {"name": "late"}})
    assert two.ended_run(late)["output"] == "after"


def test_a_stopping_engine_tells_the_others_of_what_it_hands_back(postgres_url: str, serve: ServeApp) -> None:
    # Given two engines, and a run of which the first has a step executed
    one, two = (EngineProcess(postgres_url).start() for _ in range(2))
    client = make_client(one)
    calls: list[int] = []
    go_on = threading.Event()

    @client.create_function(fn_id="fn", trigger=inngest.TriggerEvent(event=f"{client.app_id}/go"))
    def fn(ctx: inngest.ContextSync) -> str:
        def work() -> str:
            calls.append(ctx.attempt)
            go_on.wait(20 if len(calls) == 1 else 0)
            return "done"

        return ctx.step.run("work", work)

    try:
        serve(one, client, [fn])
        (event_id,) = one.send({"name": f"{client.app_id}/go", "data": {}})
        eventually(lambda: calls)
        # When it is told to stop, then it tells whoever listens, and the second makes the same call again
        with closing(sa.create_engine(postgres_url, poolclass=sa.NullPool).raw_connection()) as connection:
            listener: Any = connection.driver_connection
            listener.autocommit = True
            listener.cursor().execute("LISTEN engine_work")
            assert one.stop() == 0
            eventually(lambda: listener.poll() or listener.notifies)
        assert two.ended_run(event_id)["output"] == "done"
        assert calls == [0, 0]
    finally:
        go_on.set()
        one.close()
        two.close()


def test_a_schedule_of_two_engines_runs_once_for_each_tick(postgres_url: str, serve: ServeApp) -> None:
    # Given two engines, one with a test clock, and a schedule
    clocked = EngineProcess(postgres_url, "--test-clock").start()
    other = EngineProcess(postgres_url).start()
    client = make_client(clocked)
    ticks: list[str] = []

    @client.create_function(fn_id="fn", trigger=inngest.TriggerCron(cron="*/5 * * * *"))
    def fn(ctx: inngest.ContextSync) -> None:
        ticks.append(str(ctx.event.data["scheduledAt"]))

    try:
        serve(clocked, client, [fn])
        # When an hour passes for one of them
        clocked.request("POST", "/test/clock", {"advance": "1h"})
        # Then each tick came once
        assert len(ticks) == 12
        assert len(set(ticks)) == 12
    finally:
        clocked.close()
        other.close()

"""What survives SIGKILL of the engine."""

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import inngest
import pytest

from tests.engine.clients import make_client
from tests.engine.conftest import BOTH_DATABASES, ServeApp
from tests.engine.engine_process import EngineProcess
from tests.engine.waiting import eventually


@pytest.fixture(params=BOTH_DATABASES)
def mortal_engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EngineProcess]:
    """An engine that a test kills, on a database of its own."""
    if request.param == "sqlite":
        process = EngineProcess(f"sqlite:///{tmp_path / 'engine.db'}", retry_interval=1).start()
    else:
        url = request.getfixturevalue("postgres_url")
        process = EngineProcess(url, "--lease", "1", retry_interval=1).start()
    yield process
    process.close()


def send(engine: EngineProcess, client: inngest.Inngest, name: str = "go") -> str:
    (event_id,) = engine.send({"name": f"{client.app_id}/{name}", "data": {}})
    return event_id


@pytest.mark.kill
def test_runs_in_every_state_end_by_themselves_after_a_kill(mortal_engine: EngineProcess, serve: ServeApp) -> None:
    """One engine is killed while runs sleep, wait, execute a step, back off, wait for a child, and are cancelled."""
    engine = mortal_engine
    client = make_client(engine)
    app = client.app_id
    counts: dict[str, int] = {}
    attempts: list[int] = []
    in_step, go_on = threading.Event(), threading.Event()

    def count(name: str) -> str:
        counts[name] = counts.get(name, 0) + 1
        return name

    def trigger(name: str) -> inngest.TriggerEvent:
        return inngest.TriggerEvent(event=f"{app}/{name}")

    @client.create_function(fn_id="sleeper", trigger=trigger("sleeper"))
    def sleeper(ctx: inngest.ContextSync) -> list[str]:
        first = ctx.step.run("first", lambda: count("before-sleep"))
        ctx.step.sleep("nap", timedelta(seconds=2))
        return [first, ctx.step.run("second", lambda: count("after-sleep"))]

    @client.create_function(fn_id="waiter", trigger=trigger("waiter"))
    def waiter(ctx: inngest.ContextSync) -> object:
        ctx.step.run("first", lambda: count("before-wait"))
        found = ctx.step.wait_for_event("wait", event=f"{app}/fact", timeout=timedelta(seconds=60))
        return found and found.data["n"]

    @client.create_function(fn_id="timeout", trigger=trigger("timeout"))
    def timeout(ctx: inngest.ContextSync) -> bool:
        return ctx.step.wait_for_event("wait", event=f"{app}/never", timeout=timedelta(seconds=2)) is None

    @client.create_function(fn_id="worker", trigger=trigger("worker"))
    def worker(ctx: inngest.ContextSync) -> str:
        ctx.step.run("stored", lambda: count("stored"))

        def long() -> str:
            attempts.append(ctx.attempt)
            in_step.set()
            go_on.wait(30)
            return count("long")

        return ctx.step.run("long", long)

    @client.create_function(fn_id="retrier", trigger=trigger("retrier"), retries=2)
    def retrier(ctx: inngest.ContextSync) -> str:
        def flaky() -> str:
            if count("flaky") and counts["flaky"] == 1:
                raise ValueError("not yet")
            return "done"

        return ctx.step.run("flaky", flaky)

    @client.create_function(fn_id="child", trigger=trigger("never"))
    def child(ctx: inngest.ContextSync) -> str:
        ctx.step.sleep("nap", timedelta(seconds=2))
        return ctx.step.run("work", lambda: count("child"))

    @client.create_function(fn_id="parent", trigger=trigger("parent"))
    def parent(ctx: inngest.ContextSync) -> object:
        return ctx.step.invoke("call", function=child)

    @client.create_function(fn_id="stopped", trigger=trigger("stopped"), cancel=[inngest.Cancel(event=f"{app}/stop")])
    def stopped(ctx: inngest.ContextSync) -> None:
        ctx.step.sleep("nap", timedelta(seconds=1))
        ctx.step.run("after", lambda: count("after-cancel"))

    serve(engine, client, [sleeper, waiter, timeout, worker, retrier, child, parent, stopped])
    # Given one run in each state
    names = ["sleeper", "waiter", "timeout", "worker", "retrier", "parent", "stopped"]
    ids = {name: send(engine, client, name) for name in names}
    eventually(in_step.is_set)
    eventually(lambda: all(counts.get(key) for key in ("before-sleep", "before-wait", "flaky")))
    send(engine, client, "stop")
    eventually(lambda: engine.runs_of(ids["stopped"])[0]["status"] == "Cancelled")
    # When the engine is killed, the step in flight ends unheard, and the engine starts again
    engine.kill()
    go_on.set()
    eventually(lambda: counts.get("long") == 1)
    engine.start()
    # Then a wait still hears its event
    engine.send({"name": f"{app}/fact", "data": {"n": 5}})
    outputs = {name: engine.ended_run(event_id, within=30)["output"] for name, event_id in ids.items()}
    # And every run ends as it would have: stored steps ran once, the step in flight again as the same attempt
    assert outputs == {
        "sleeper": ["before-sleep", "after-sleep"],
        "waiter": 5,
        "timeout": True,
        "worker": "long",
        "retrier": "done",
        "parent": "child",
        "stopped": {},
    }
    assert counts == {
        "before-sleep": 1,
        "after-sleep": 1,
        "before-wait": 1,
        "stored": 1,
        "long": 2,
        "flaky": 2,
        "child": 1,
    }
    assert attempts == [0, 0]


@pytest.mark.kill
def test_runs_end_right_when_the_engine_is_killed_again_and_again(
    mortal_engine: EngineProcess, serve: ServeApp
) -> None:
    engine = mortal_engine
    # Given ten runs of six steps
    client = make_client(engine)
    executed: list[tuple[str, int]] = []

    @client.create_function(fn_id="fn", trigger=inngest.TriggerEvent(event=f"{client.app_id}/go"))
    def fn(ctx: inngest.ContextSync) -> list[int]:
        def work(n: int) -> int:
            executed.append((ctx.run_id, n))
            time.sleep(0.02)
            return n

        return [ctx.step.run(f"step-{n}", work, n) for n in range(6)]

    serve(engine, client, [fn])
    ids = [send(engine, client) for _ in range(10)]
    # When the engine is killed three times within their lives
    for pause in (0.05, 0.02, 0.17):
        time.sleep(pause)
        engine.kill()
        engine.start()
    # Then every run ends with all its steps, and no step ran more often than there were kills
    runs = [engine.ended_run(event_id, within=30) for event_id in ids]
    assert [run["output"] for run in runs] == [[0, 1, 2, 3, 4, 5]] * 10
    assert all(executed.count(step) <= 4 for step in executed)
    assert len(set(executed)) == 60


@pytest.mark.kill
def test_schedules_go_on_after_a_kill_and_a_missed_tick_runs_once(tmp_path: Path, serve: ServeApp) -> None:
    # Given an engine with a test clock and a function of every ten minutes
    engine = EngineProcess(f"sqlite:///{tmp_path / 'engine.db'}", "--test-clock").start()
    client = make_client(engine)
    ticks: list[str] = []

    @client.create_function(fn_id="fn", trigger=inngest.TriggerCron(cron="TZ=Europe/Oslo */10 * * * *"))
    def fn(ctx: inngest.ContextSync) -> None:
        ticks.append(str(ctx.event.data["scheduledAt"]))

    try:
        serve(engine, client, [fn])
        engine.request("POST", "/test/clock", {"advance": "1h"})
        assert len(ticks) == 6
        # When the engine is killed and starts again (its clock at the real time), and nobody registers again
        engine.kill()
        engine.start()
        engine.request("POST", "/test/clock", {"advance": "2h"})
        # Then ticks go on where they were, each once
        assert len(ticks) == 12
        assert ticks == sorted(set(ticks))
        # When 65 minutes pass that it does not see
        engine.request("POST", "/test/clock", {"advance": "65m", "jump": True})
        # Then of the six or seven missed ticks only the last runs, late, and the next ones come in time
        assert len(ticks) == 13
        engine.request("POST", "/test/clock", {"advance": "20m"})
        assert len(ticks) == 15
    finally:
        engine.close()


def test_a_second_engine_cannot_take_a_file_in_use(unshared_engine: EngineProcess, tmp_path: Path) -> None:
    # Given an engine on a file, when another one wants it, then it ends with one clear line
    second = EngineProcess(f"sqlite:///{tmp_path / 'engine.db'}")
    status, told = second.refused()
    assert status == 1
    assert told.startswith("engine: another engine process is using")
    assert told.count("\n") == 1


@pytest.mark.long
def test_a_database_of_another_schema_is_refused_in_one_line(tmp_path: Path) -> None:
    # Given a database that a later engine wrote
    path = tmp_path / "engine.db"
    first = EngineProcess(f"sqlite:///{path}").start()
    assert first.stop() == 0
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE engine_marks SET value = 99 WHERE name = 'schema'")
    # When this engine is to use it, then it says so and ends
    status, told = EngineProcess(f"sqlite:///{path}").refused()
    assert status == 1
    assert "has schema 99 and this engine needs" in told
    assert told.count("\n") == 1


@pytest.mark.long
def test_a_database_of_before_a_table_and_an_index_gets_them(tmp_path: Path) -> None:
    # Given a database of this schema without one of its tables and one of its indexes
    path = tmp_path / "engine.db"
    engine = EngineProcess(f"sqlite:///{path}").start()
    assert engine.stop() == 0
    found = "SELECT count(*) FROM sqlite_master WHERE name IN ('engine_runs_status', 'engine_missed')"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP INDEX engine_runs_status")
        connection.execute("DROP TABLE engine_missed")
    # When an engine starts on it, then both are there
    engine.start()
    assert engine.stop() == 0
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute(found).fetchone() == (2,)


def test_a_taken_port_is_one_clear_line(unshared_engine: EngineProcess, tmp_path: Path) -> None:
    second = EngineProcess(f"sqlite:///{tmp_path / 'other.db'}")
    second.use_port(unshared_engine.port)
    status, told = second.refused()
    assert status == 1
    assert told == f"engine: cannot listen on 127.0.0.1 port {unshared_engine.port}: Address already in use\n"


def test_an_engine_that_is_told_to_stop_ends_cleanly(unshared_engine: EngineProcess, serve: ServeApp) -> None:
    # Given a run in a step, when the engine is told to stop, it ends with status 0, and the next one repeats the step
    client = make_client(unshared_engine)
    started, go_on = threading.Event(), threading.Event()

    @client.create_function(fn_id="fn", trigger=inngest.TriggerEvent(event=f"{client.app_id}/go"))
    def fn(ctx: inngest.ContextSync) -> object:
        def long() -> str:
            started.set()
            go_on.wait(30)
            return "done"

        return ctx.step.run("long", long)

    serve(unshared_engine, client, [fn])
    event_id = send(unshared_engine, client)
    eventually(started.is_set)
    assert unshared_engine.stop() == 0
    go_on.set()
    unshared_engine.start()
    assert unshared_engine.ended_run(event_id)["output"] == "done"


@pytest.mark.kill
def test_an_engine_stopped_at_any_moment_of_its_start_ends_cleanly(unshared_engine: EngineProcess) -> None:
    for _ in range(3):
        assert unshared_engine.stop() == 0
        unshared_engine.start()

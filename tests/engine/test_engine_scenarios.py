"""Completions that come too early, runs that outlive the engine, work that comes back after a stop."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import inngest
import pytest

from tests.engine.clients import make_client
from tests.engine.conftest import BOTH_DATABASES, ServeApp
from tests.engine.engine_process import EngineProcess
from tests.engine.sending import send, trigger
from tests.engine.waiting import eventually

REPEATS = 200
PATIENCE = timedelta(seconds=60)


@pytest.fixture(params=BOTH_DATABASES)
def mortal_engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EngineProcess]:
    """An engine that a test kills, on a database of its own, with short pauses between attempts."""
    if request.param == "sqlite":
        process = EngineProcess(f"sqlite:///{tmp_path / 'engine.db'}", "--test-clock", retry_interval=1).start()
    else:
        url = request.getfixturevalue("postgres_url")
        process = EngineProcess(url, "--lease", "1", "--test-clock", retry_interval=1).start()
    yield process
    process.close()


def has_stored_a_step(engine: EngineProcess, event_id: str) -> bool:
    runs = engine.runs_of(event_id)
    if not runs:
        return False
    trace = engine.get(f"/v2/runs/{runs[0]['run_id']}/trace")["data"]["rootSpan"]
    return any(step["status"] == "COMPLETED" for step in trace["children"])


@pytest.mark.case("B07")
@pytest.mark.load
def test_completion_that_comes_before_its_waiter_is_registered_ends_the_wait(
    engine: EngineProcess, serve: ServeApp
) -> None:
    # Given a provider that calls back at once or 30 ms later, and a waiter that re-reads the job once it is registered
    client = make_client(engine)
    app = client.app_id
    done: set[str] = set()

    def call_back(job: str) -> None:
        done.add(job)
        engine.send({"name": f"{app}/done", "data": {"job": job}})

    @client.create_function(fn_id="order", trigger=trigger(client))
    def order(ctx: inngest.ContextSync) -> object:
        job = str(ctx.event.data["job"])

        def place() -> None:
            if ctx.event.data["at_once"] is None:
                return
            if ctx.event.data["at_once"]:
                call_back(job)
            else:
                threading.Timer(0.03, call_back, [job]).start()

        def look_again() -> None:
            if job in done:
                call_back(job)

        ctx.step.run("place", place)
        found, _ = ctx.group.parallel(
            (
                lambda: ctx.step.wait_for_event(
                    "wait", event=f"{app}/done", if_exp="async.data.job == event.data.job", timeout=PATIENCE
                ),
                lambda: ctx.step.run("look again", look_again),
            )
        )
        return isinstance(found, inngest.Event) and found.data["job"] == job

    serve(engine, client, [order])
    # When two hundred orders are placed; for the last fifty the start and the completion come in one request
    kinds = [True] * 75 + [False] * 75 + [None] * 50
    events: list[dict[str, Any]] = []
    for number, kind in enumerate(kinds):
        events.append({"name": f"{app}/go", "data": {"job": f"job{number}", "at_once": kind}})
        if kind is None:
            done.add(f"job{number}")
            events.append({"name": f"{app}/done", "data": {"job": f"job{number}"}})
    sent = zip(events, engine.send(*events), strict=True)
    ids = [event_id for event, event_id in sent if event["name"] == f"{app}/go"]
    # Then none waits for its time-out
    assert [engine.ended_run(event_id, within=50)["output"] for event_id in ids] == [True] * REPEATS


@pytest.mark.case("B08")
@pytest.mark.kill
def test_thirty_runs_in_mixed_states_end_by_themselves_after_a_kill(
    mortal_engine: EngineProcess, serve: ServeApp
) -> None:
    engine = mortal_engine
    client = make_client(engine)
    did: Counter[str] = Counter()
    hooks: Counter[str] = Counter()
    held, go_on = threading.Semaphore(0), threading.Event()

    def count(run_id: str, name: str) -> str:
        did[f"{run_id} {name}"] += 1
        return name

    def hook(ctx: inngest.ContextSync) -> None:
        hooks[str(ctx.event.data["run_id"])] += 1

    @client.create_function(fn_id="sleeping", trigger=trigger(client, "sleeping"))
    def sleeping(ctx: inngest.ContextSync) -> str:
        ctx.step.run("before", lambda: count(ctx.run_id, "before"))
        ctx.step.sleep("nap", timedelta(seconds=4))
        return ctx.step.run("after", lambda: count(ctx.run_id, "after"))

    @client.create_function(fn_id="waiting", trigger=trigger(client, "waiting"))
    def waiting(ctx: inngest.ContextSync) -> str:
        ctx.step.run("before", lambda: count(ctx.run_id, "before"))
        found = ctx.step.wait_for_event("wait", event=f"{client.app_id}/fact", timeout=timedelta(seconds=60))
        return "heard" if found else "nothing"

    @client.create_function(fn_id="stepping", trigger=trigger(client, "stepping"))
    def stepping(ctx: inngest.ContextSync) -> str:
        def work() -> str:
            held.release()
            go_on.wait(60)
            return count(ctx.run_id, "work")

        return ctx.step.run("work", work)

    @client.create_function(fn_id="child", trigger=trigger(client, "never"))
    def child(ctx: inngest.ContextSync) -> str:
        ctx.step.sleep("nap", timedelta(seconds=4))
        return ctx.step.run("work", lambda: count(ctx.run_id, "work"))

    @client.create_function(fn_id="invoking", trigger=trigger(client, "invoking"))
    def invoking(ctx: inngest.ContextSync) -> str:
        return ctx.step.invoke("call", function=child)

    @client.create_function(fn_id="retrying", trigger=trigger(client, "retrying"), retries=3)
    def retrying(ctx: inngest.ContextSync) -> str:
        def work() -> str:
            count(ctx.run_id, f"attempt {ctx.attempt}")
            if ctx.attempt < 2:
                raise ValueError("not yet")
            return "done"

        return ctx.step.run("work", work)

    @client.create_function(fn_id="doomed", trigger=trigger(client, "doomed"), retries=0, on_failure=hook)
    def doomed(ctx: inngest.ContextSync) -> None:
        ctx.step.sleep("nap", timedelta(seconds=4))

        def work() -> None:
            count(ctx.run_id, "work")
            raise ValueError("doomed")

        ctx.step.run("work", work)

    @client.create_function(fn_id="scheduled", trigger=inngest.TriggerCron(cron="* * * * *"))
    def scheduled(ctx: inngest.ContextSync) -> None:
        count("scheduled", "tick")

    # Given thirty runs, each in the middle of something
    expected = {
        "sleeping": (8, "Completed", "after"),
        "waiting": (6, "Completed", "heard"),
        "stepping": (5, "Completed", "work"),
        "invoking": (5, "Completed", "work"),
        "retrying": (4, "Completed", "done"),
        "doomed": (2, "Failed", None),
    }
    app = serve(engine, client, [sleeping, waiting, stepping, child, invoking, retrying, doomed, scheduled])
    ids = {name: send(engine, client, *[{}] * some, name=name) for name, (some, _, _) in expected.items()}
    assert sum(map(len, ids.values())) == 30
    for _ in range(5):
        assert held.acquire(timeout=20)
    for name in ("sleeping", "waiting"):
        for event_id in ids[name]:
            eventually(partial(has_stored_a_step, engine, event_id))
    eventually(lambda: sum(1 for key in did if key.endswith("attempt 0")) == 4)
    ticks = did["scheduled tick"]
    # When the engine is killed and started again, and nobody touches the app
    engine.kill()
    engine.start()
    # Then every run has a status, cancelling works and shows
    for event_id in (event_id for found in ids.values() for event_id in found):
        (run,) = engine.runs_of(event_id)
        assert run["status"] in {"Running", "Completed", "Failed"}
    stopped = [ids["sleeping"][0], ids["waiting"][0], ids["stepping"][0]]
    for event_id in stopped:
        engine.request("DELETE", f"/v1/runs/{engine.runs_of(event_id)[0]['run_id']}")
        assert engine.runs_of(event_id)[0]["status"] == "Cancelled"
    engine.send({"name": f"{client.app_id}/fact", "data": {}})
    go_on.set()
    # And the app may be deployed anew meanwhile
    app.stop()
    app.start()
    assert app.sync()["ok"] is True
    # And every run ends as it would have
    for name, (_, status, output) in expected.items():
        for event_id in ids[name]:
            run = engine.ended_run(event_id, within=40)
            if event_id in stopped:
                assert run["status"] == "Cancelled"
                continue
            assert run["status"] == status, (name, run)
            assert output is None or run["output"] == output
            if status == "Failed":
                eventually(lambda run=run: hooks[run["run_id"]])  # type: ignore[misc]
    # And failure hooks came once, what was stored did not run again, and what was in flight at most once more
    assert list(hooks.values()) == [1, 1]
    for key, times in did.items():
        if not key.startswith("scheduled"):
            assert times <= (1 if key.endswith((" before", " after")) else 2), (key, times)
    # And what is scheduled comes again at the next minute
    engine.request("POST", "/test/clock", {"advance": "1m"})
    assert did["scheduled tick"] > ticks


@pytest.mark.case("B09")
def test_answer_that_comes_after_the_cancellation_revives_nothing(engine: EngineProcess, serve: ServeApp) -> None:
    # Given a run in the second of four steps, which has a child that sleeps
    client = make_client(engine)
    did: list[str] = []
    entered, go_on, left = threading.Event(), threading.Event(), threading.Event()

    @client.create_function(fn_id="fn", trigger=trigger(client))
    def fn(ctx: inngest.ContextSync) -> None:
        def second() -> str:
            entered.set()
            go_on.wait(20)
            did.append("second")
            left.set()
            return "late"

        ctx.step.run("first", lambda: did.append("first"))
        ctx.step.run("second", second)
        ctx.step.wait_for_event("callback", event=f"{client.app_id}/callback", timeout=PATIENCE)
        ctx.step.run("fourth", lambda: did.append("fourth"))

    serve(engine, client, [fn])
    (event_id,) = send(engine, client, {})
    eventually(entered.is_set)
    run_id = engine.runs_of(event_id)[0]["run_id"]
    # When it is cancelled, the step's answer comes after that, then the callback, and a second stop
    engine.request("POST", f"/v2/runs/{run_id}/cancel")
    cancelled = engine.ended_run(event_id)
    go_on.set()
    eventually(left.is_set)
    send(engine, client, {}, name="callback")
    engine.request("DELETE", f"/v1/runs/{run_id}")
    # Then a later run passes by, and the stopped one is as it was: ended once, nothing done since
    (other,) = send(engine, client, {})
    eventually(lambda: did.count("second") == 2)
    assert engine.ended_run(event_id) == cancelled
    assert cancelled["status"] == "Cancelled"
    assert did.count("fourth") == 0
    steps = engine.get(f"/v2/runs/{run_id}/trace?includeOutput=true")["data"]["rootSpan"]["children"]
    assert {one["status"] for one in steps} <= {"COMPLETED", "CANCELLED"}
    send(engine, client, {}, name="callback")
    assert engine.ended_run(other)["status"] == "Completed"
    assert did.count("fourth") == 1

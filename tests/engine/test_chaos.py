"""Thirty runs in mixed states while the engine is killed fifty times."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import inngest
import pytest

from tests.engine.clients import make_client
from tests.engine.conftest import BOTH_DATABASES, ServeApp
from tests.engine.engine_process import EngineProcess
from tests.engine.waiting import eventually

pytestmark = pytest.mark.kill

_KILLS = 50
_AT_ONCE = 10
_PAUSE = timedelta(seconds=1)
_RUNS = {"walker": 10, "waiter": 5, "parent": 5, "retrier": 4, "parallel": 3, "stopped": 2, "doomed": 1}


@pytest.fixture(params=BOTH_DATABASES)
def mortal_engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EngineProcess]:
    if request.param == "sqlite":
        process = EngineProcess(f"sqlite:///{tmp_path / 'engine.db'}", retry_interval=0.3).start()
    else:
        process = EngineProcess(request.getfixturevalue("postgres_url"), "--lease", "1", retry_interval=0.3).start()
    yield process
    process.close()


class Effects:
    """What steps did, by run and in order: (round, name, attempt). Runs go on until `over` is set."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self._lock = threading.Lock()
        self._of: dict[str, list[tuple[int, str, int]]] = {}

    def did(self, run_id: str, at: int, name: str, attempt: int) -> None:
        with self._lock:
            self._of.setdefault(run_id, []).append((at, name, attempt))

    def of(self, run_id: str) -> list[tuple[int, str, int]]:
        with self._lock:
            return list(self._of.get(run_id, []))

    def all(self) -> dict[str, list[tuple[int, str, int]]]:
        with self._lock:
            return {run_id: list(found) for run_id, found in self._of.items()}


def build(client: inngest.Inngest, effects: Effects) -> list[inngest.Function[Any]]:
    """Functions that each go through rounds of one kind of step, and return how many there were."""
    app = client.app_id
    functions: list[inngest.Function[Any]] = []

    def add(name: str, round_: Callable[[inngest.ContextSync, int], object], **options: Any) -> inngest.Function[Any]:
        def run(ctx: inngest.ContextSync) -> int:
            at = 0

            def more() -> bool:
                effects.did(ctx.run_id, at, "more", ctx.attempt)
                time.sleep(0.02)
                return not effects.over.is_set()

            while ctx.step.run("more", more):
                round_(ctx, at)
                at += 1
            return at

        trigger = inngest.TriggerEvent(event=f"{app}/{name}")
        function = client.create_function(fn_id=name, trigger=trigger, **options)(run)
        functions.append(function)
        return function

    def step(ctx: inngest.ContextSync, at: int, name: str) -> str:
        def work() -> str:
            effects.did(ctx.run_id, at, name, ctx.attempt)
            time.sleep(0.02)
            return name

        return ctx.step.run(name, work)

    def flaky(ctx: inngest.ContextSync, at: int) -> None:
        def work() -> None:
            effects.did(ctx.run_id, at, "work", ctx.attempt)
            if ctx.attempt == 0:
                raise ValueError("not yet")

        ctx.step.run("work", work)

    @client.create_function(fn_id="child", trigger=inngest.TriggerEvent(event=f"{app}/never"))
    def child(ctx: inngest.ContextSync) -> str:
        ctx.step.sleep("nap", _PAUSE)
        return step(ctx, 0, "child")

    def group(ctx: inngest.ContextSync, at: int) -> None:
        ctx.group.parallel((lambda: step(ctx, at, "one"), lambda: step(ctx, at, "two")))
        ctx.step.sleep("nap", _PAUSE)

    def fail(ctx: inngest.ContextSync, at: int) -> None:
        def work() -> None:
            effects.did(ctx.run_id, at, "work", ctx.attempt)
            raise inngest.NonRetriableError("doomed")

        ctx.step.run("work", work)

    def told(ctx: inngest.ContextSync) -> None:
        ctx.step.run("tell", lambda: effects.did("failure hook", 0, "tell", ctx.attempt))

    add("walker", lambda ctx, at: ctx.step.sleep("nap", _PAUSE), concurrency=[inngest.Concurrency(limit=_AT_ONCE)])
    add("waiter", lambda ctx, at: ctx.step.wait_for_event("wait", event=f"{app}/never", timeout=_PAUSE))
    add("parent", lambda ctx, at: ctx.step.invoke("call", function=child))
    add("retrier", flaky)
    add("parallel", group)
    add("stopped", lambda ctx, at: ctx.step.sleep("nap", _PAUSE), cancel=[inngest.Cancel(event=f"{app}/stop")])
    add("doomed", fail, on_failure=told)
    return [*functions, child]


def kill_again_and_again(engine: EngineProcess, dice: random.Random, times: int) -> None:
    """At any instant: of its start, of the first moments after it, and later."""
    for _ in range(times):
        engine.kill()
        if dice.random() < 0.4:
            engine.begin()
            time.sleep(dice.random())
        else:
            engine.start()
            time.sleep(dice.random())


def test_every_run_ends_right_and_nothing_that_was_stored_runs_again(
    mortal_engine: EngineProcess, serve: ServeApp
) -> None:
    # Given thirty runs in every state
    engine = mortal_engine
    seed = random.SystemRandom().randrange(1_000_000)
    print(f"seed {seed}")
    dice = random.Random(seed)
    client, effects = make_client(engine), Effects()
    app = client.app_id
    serve(engine, client, build(client, effects))
    ids = {name: engine.send(*[{"name": f"{app}/{name}", "data": {}}] * count) for name, count in _RUNS.items()}
    assert sum(len(found) for found in ids.values()) == 30
    # When the engine is killed fifty times, and two runs are cancelled in the middle of it
    kill_again_and_again(engine, dice, _KILLS // 2)
    engine.kill()
    engine.start()
    engine.send({"name": f"{app}/stop", "data": {}})
    stopped = [engine.ended_run(event_id)["run_id"] for event_id in ids["stopped"]]
    # A call that was under way when its run was cancelled has its effect yet.
    time.sleep(2)
    done_by_stopped = {run_id: effects.of(run_id) for run_id in stopped}
    kill_again_and_again(engine, dice, _KILLS - _KILLS // 2 - 2)
    engine.kill()
    engine.start()
    effects.over.set()
    # Then every run ends as it would have
    runs = {name: [engine.ended_run(event_id, within=60) for event_id in found] for name, found in ids.items()}
    for name, found in runs.items():
        expected = {"stopped": "Cancelled", "doomed": "Failed"}.get(name, "Completed")
        assert [run["status"] for run in found] == [expected] * _RUNS[name], (name, found[0]["output"])
    eventually(lambda: effects.of("failure hook"))
    # And every effect happened: rounds came one after the other, none after a later one, none left out
    repeated, retriers = 0, {run["run_id"] for run in runs["retrier"]}
    for name in ("walker", "waiter", "parent", "retrier", "parallel"):
        for run in runs[name]:
            did = effects.of(run["run_id"])
            rounds = [at for at, _, _ in did]
            assert rounds == sorted(rounds), (name, did)
            assert set(rounds) == set(range(run["output"] + 1)), name
            assert run["output"] > 0, name
    # And a step ran again only if a kill left it unheard: with the same attempt, and at most once for each kill
    for run_id, did in effects.all().items():
        times = Counter(did)
        repeated += sum(count - 1 for count in times.values())
        assert max(times.values()) <= 1 + _KILLS, run_id
        if run_id in retriers:
            assert {times[at, "work", attempt] > 0 for at, name, _ in did if name == "work" for attempt in (0, 1)} == {
                True
            }
        else:
            assert {attempt for _, _, attempt in did} == {0}, run_id
    assert repeated <= _KILLS * _AT_ONCE
    # And what was cancelled stayed so
    assert {run_id: effects.of(run_id) for run_id in stopped} == done_by_stopped
    print(f"{sum(len(did) for did in effects.all().values())} effects, {repeated} of them repeated after a kill")

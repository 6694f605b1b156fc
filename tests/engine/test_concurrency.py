"""How many steps execute at once, and which go first."""

import threading
import time
from datetime import timedelta

import inngest

from tests.engine.clients import make_client
from tests.engine.conftest import ServeApp
from tests.engine.engine_process import EngineProcess
from tests.engine.sending import send, trigger
from tests.engine.waiting import eventually

SECOND = timedelta(seconds=1)


class Gauge:
    """How many are inside at once, per key."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside: dict[str, int] = {}
        self.most: dict[str, int] = {}

    def pass_through(self, key: str, pause: float = 0.05) -> None:
        with self._lock:
            self._inside[key] = self._inside.get(key, 0) + 1
            self.most[key] = max(self.most.get(key, 0), self._inside[key])
        time.sleep(pause)
        with self._lock:
            self._inside[key] -= 1


def test_a_concurrency_key_limits_executing_steps_per_value(engine: EngineProcess, serve: ServeApp) -> None:
    # Given at most one step at a time for each user, and three in all
    client = make_client(engine)
    users, everyone = Gauge(), Gauge()

    @client.create_function(
        fn_id="fn",
        trigger=trigger(client),
        concurrency=[inngest.Concurrency(limit=1, key="event.data.user"), inngest.Concurrency(limit=3)],
    )
    def fn(ctx: inngest.ContextSync) -> str:
        def work() -> None:
            user = str(ctx.event.data["user"])
            inner = threading.Thread(target=everyone.pass_through, args=("all",))
            inner.start()
            users.pass_through(user)
            inner.join()

        ctx.step.run("one", work)
        ctx.step.run("two", work)
        return "done"

    serve(engine, client, [fn])
    # When many runs of five users come at once
    ids = send(engine, client, *({"user": f"u{n % 5}"} for n in range(20)))
    # Then all end, and the limits were kept
    assert {engine.ended_run(event_id)["output"] for event_id in ids} == {"done"}
    assert users.most == {f"u{n}": 1 for n in range(5)}
    assert 2 <= everyone.most["all"] <= 3


def test_a_sleeping_run_holds_no_slot(engine: EngineProcess, serve: ServeApp) -> None:
    # Given one slot and a run that sleeps long
    client = make_client(engine)

    @client.create_function(fn_id="fn", trigger=trigger(client), concurrency=[inngest.Concurrency(limit=1)])
    def fn(ctx: inngest.ContextSync) -> str:
        if ctx.event.data.get("long"):
            ctx.step.sleep("nap", timedelta(seconds=60))
        return "done"

    serve(engine, client, [fn])
    send(engine, client, {"long": True})
    # When another comes, then it runs meanwhile
    (other,) = send(engine, client, {})
    assert engine.ended_run(other)["output"] == "done"


def test_an_env_scope_is_shared_by_functions(engine: EngineProcess, serve: ServeApp) -> None:
    # Given two functions with one limit of scope env between them
    client = make_client(engine)
    gauge = Gauge()
    shared = [inngest.Concurrency(limit=1, key=f"'{client.app_id}'", scope="env")]

    @client.create_function(fn_id="a", trigger=trigger(client), concurrency=shared)
    def first(ctx: inngest.ContextSync) -> None:
        gauge.pass_through("x")

    @client.create_function(fn_id="b", trigger=trigger(client), concurrency=shared)
    def second(ctx: inngest.ContextSync) -> None:
        gauge.pass_through("x")

    serve(engine, client, [first, second])
    # When both run for each of five events, then never two at once
    ids = send(engine, client, *({} for _ in range(5)))
    eventually(lambda: all(len([r for r in engine.runs_of(i) if r["ended_at"]]) == 2 for i in ids))
    assert gauge.most == {"x": 1}


def test_priority_goes_first_when_slots_are_few(engine: EngineProcess, serve: ServeApp) -> None:
    # Given one slot, held
    client = make_client(engine)
    order: list[int] = []
    go_on = threading.Event()

    @client.create_function(
        fn_id="fn",
        trigger=trigger(client),
        concurrency=[inngest.Concurrency(limit=1)],
        priority=inngest.Priority(run="event.data.p"),
    )
    def fn(ctx: inngest.ContextSync) -> None:
        priority = int(str(ctx.event.data["p"]))
        if priority == 0:
            go_on.wait(20)
        order.append(priority)

    serve(engine, client, [fn])
    send(engine, client, {"p": 0})
    # When runs of other priorities queue up behind it
    ids = send(engine, client, {"p": -100}, {"p": 500}, {"p": 1})
    go_on.set()
    # Then the highest goes first
    for event_id in ids:
        engine.ended_run(event_id)
    assert order == [0, 500, 1, -100]

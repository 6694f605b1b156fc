"""Flow control: which events start runs, when, and what stops them."""

import threading
import time
from datetime import timedelta
from functools import partial
from typing import Any

import inngest

from tests.engine.clients import make_client
from tests.engine.conftest import ServeApp
from tests.engine.engine_process import EngineProcess
from tests.engine.waiting import eventually

SECOND = timedelta(seconds=1)


def send(engine: EngineProcess, client: inngest.Inngest, *data: dict[str, Any], name: str = "go") -> list[str]:
    return engine.send(*({"name": f"{client.app_id}/{name}", "data": each} for each in data))


def trigger(client: inngest.Inngest, name: str = "go") -> inngest.TriggerEvent:
    return inngest.TriggerEvent(event=f"{client.app_id}/{name}")


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


def test_cancel_on_event_stops_the_runs_it_means(engine: EngineProcess, serve: ServeApp) -> None:
    # Given two sleeping runs and a third in a step
    client = make_client(engine)
    app = client.app_id
    after: list[str] = []
    entered, go_on = threading.Event(), threading.Event()

    @client.create_function(
        fn_id="fn",
        trigger=trigger(client),
        cancel=[inngest.Cancel(event=f"{app}/stop", if_exp="async.data.id == event.data.id")],
    )
    def fn(ctx: inngest.ContextSync) -> str:
        name = str(ctx.event.data["id"])

        def hold() -> None:
            if name == "held":
                entered.set()
                go_on.wait(20)

        ctx.step.run("hold", hold)
        ctx.step.sleep("nap", 2 * SECOND)
        ctx.step.run("after", lambda: after.append(name))
        return "done"

    serve(engine, client, [fn])
    one, two, held = send(engine, client, {"id": "one"}, {"id": "two"}, {"id": "held"})
    eventually(entered.is_set)
    # When events cancel the first and the third
    send(engine, client, {"id": "one"}, {"id": "held"}, name="stop")
    go_on.set()
    # Then these end as cancelled with nothing more done, and the second runs to its end
    assert [engine.ended_run(i)["status"] for i in (one, held)] == ["Cancelled", "Cancelled"]
    assert engine.ended_run(two)["output"] == "done"
    assert after == ["two"]


def test_runs_are_cancelled_through_the_api(engine: EngineProcess, serve: ServeApp) -> None:
    # Given two sleeping runs
    client = make_client(engine)

    @client.create_function(fn_id="fn", trigger=trigger(client))
    def fn(ctx: inngest.ContextSync) -> None:
        ctx.step.sleep("nap", timedelta(seconds=60))

    cancelled: list[str] = []

    @client.create_function(fn_id="seen", trigger=inngest.TriggerEvent(event="inngest/function.cancelled"))
    def seen(ctx: inngest.ContextSync) -> None:
        cancelled.append(str(ctx.event.data["run_id"]))

    serve(engine, client, [fn, seen])
    ids = send(engine, client, {}, {})
    runs = [eventually(partial(engine.runs_of, event_id))[0]["run_id"] for event_id in ids]
    # When each is cancelled in one of the two ways
    engine.request("DELETE", f"/v1/runs/{runs[0]}")
    engine.request("POST", f"/v2/runs/{runs[1]}/cancel")
    # Then both are, and the event tells
    assert [engine.ended_run(i)["status"] for i in ids] == ["Cancelled", "Cancelled"]
    eventually(lambda: set(runs) <= set(cancelled))


def test_debounce_runs_once_with_the_last_event(engine: EngineProcess, serve: ServeApp) -> None:
    # Given a debounce of one second for each key
    client = make_client(engine)
    seen: list[tuple[str, int]] = []

    @client.create_function(
        fn_id="fn", trigger=trigger(client), debounce=inngest.Debounce(period=SECOND, key="event.data.key")
    )
    def fn(ctx: inngest.ContextSync) -> None:
        seen.append((str(ctx.event.data["key"]), int(str(ctx.event.data["n"]))))

    serve(engine, client, [fn])
    # When bursts of two keys come
    for n in range(3):
        send(engine, client, {"key": "a", "n": n}, {"key": "b", "n": n})
        time.sleep(0.3)
    assert seen == []
    # Then each key runs once, with its last event
    eventually(lambda: len(seen) == 2)
    assert sorted(seen) == [("a", 2), ("b", 2)]


def test_a_debounce_that_never_rests_runs_at_its_timeout(engine: EngineProcess, serve: ServeApp) -> None:
    # Given a debounce that may wait two seconds at most
    client = make_client(engine)
    seen: list[int] = []

    @client.create_function(
        fn_id="fn", trigger=trigger(client), debounce=inngest.Debounce(period=SECOND, timeout=2 * SECOND)
    )
    def fn(ctx: inngest.ContextSync) -> None:
        seen.append(int(str(ctx.event.data["n"])))

    serve(engine, client, [fn])
    # When events keep coming
    for n in range(40):
        send(engine, client, {"n": n})
        if seen:
            break
        time.sleep(0.1)
    # Then it ran while they did
    assert seen
    assert seen[0] > 0


def test_batches_by_size_and_by_time(engine: EngineProcess, serve: ServeApp) -> None:
    # Given batches of three events or one second
    client = make_client(engine)
    batches: list[list[int]] = []

    @client.create_function(fn_id="fn", trigger=trigger(client), batch_events=inngest.Batch(max_size=3, timeout=SECOND))
    def fn(ctx: inngest.ContextSync) -> None:
        batches.append([int(str(event.data["n"])) for event in ctx.events])

    serve(engine, client, [fn])
    # When four events come
    ids = send(engine, client, *({"n": n} for n in range(4)))
    # Then three run at once and one later, and each event knows its run
    eventually(lambda: len(batches) == 2)
    assert sorted(n for batch in batches for n in batch) == [0, 1, 2, 3]
    assert sorted(len(batch) for batch in batches) == [1, 3]
    assert len({engine.ended_run(event_id)["run_id"] for event_id in ids}) == 2


def test_a_rate_limit_drops_and_a_throttle_delays(engine: EngineProcess, serve: ServeApp) -> None:
    # Given one function limited to one run a minute for each key, another throttled to two a second
    client = make_client(engine)
    limited: list[str] = []
    throttled: list[float] = []

    @client.create_function(
        fn_id="limited",
        trigger=trigger(client),
        rate_limit=inngest.RateLimit(limit=1, period=timedelta(minutes=1), key="event.data.key"),
    )
    def first(ctx: inngest.ContextSync) -> None:
        limited.append(str(ctx.event.data["key"]))

    @client.create_function(
        fn_id="throttled", trigger=trigger(client), throttle=inngest.Throttle(limit=2, period=SECOND)
    )
    def second(ctx: inngest.ContextSync) -> None:
        throttled.append(time.monotonic())

    serve(engine, client, [first, second])
    # When four events come at once
    send(engine, client, {"key": "a"}, {"key": "a"}, {"key": "b"}, {"key": "a"})
    # Then the first ran once for each key, the second three times at once (its burst is one) and once later
    eventually(lambda: len(throttled) == 4)
    assert sorted(limited) == ["a", "b"]
    assert throttled[3] - throttled[0] > 0.35


def test_singletons_skip_or_cancel(engine: EngineProcess, serve: ServeApp) -> None:
    # Given a function that skips while it runs, and one that cancels what runs
    client = make_client(engine)

    @client.create_function(fn_id="skip", trigger=trigger(client, "skip"), singleton=inngest.Singleton(mode="skip"))
    def skipping(ctx: inngest.ContextSync) -> None:
        ctx.step.sleep("nap", SECOND)

    @client.create_function(
        fn_id="cancel", trigger=trigger(client, "cancel"), singleton=inngest.Singleton(mode="cancel")
    )
    def cancelling(ctx: inngest.ContextSync) -> None:
        ctx.step.sleep("nap", SECOND)

    serve(engine, client, [skipping, cancelling])
    # When two events come to each
    (kept,) = send(engine, client, {}, name="skip")
    (skipped,) = send(engine, client, {}, name="skip")
    (older,) = send(engine, client, {}, name="cancel")
    (newer,) = send(engine, client, {}, name="cancel")
    # Then the second is skipped here, and the first cancelled there
    assert engine.ended_run(kept)["status"] == "Completed"
    assert engine.runs_of(skipped) == []
    assert engine.ended_run(older)["status"] == "Cancelled"
    assert engine.ended_run(newer)["status"] == "Completed"
    # And when all has ended, a new event runs again
    (again,) = send(engine, client, {}, name="skip")
    assert engine.ended_run(again)["status"] == "Completed"


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


def test_timeouts_cancel_runs_that_start_or_end_late(engine: EngineProcess, serve: ServeApp) -> None:
    # Given a function that must end within a second, and one that must start within a second behind a held slot
    client = make_client(engine)
    go_on = threading.Event()

    @client.create_function(fn_id="late", trigger=trigger(client, "late"), timeouts=inngest.Timeouts(finish=SECOND))
    def late(ctx: inngest.ContextSync) -> None:
        ctx.step.sleep("nap", timedelta(seconds=30))

    @client.create_function(
        fn_id="queued",
        trigger=trigger(client, "queued"),
        concurrency=[inngest.Concurrency(limit=1)],
        timeouts=inngest.Timeouts(start=SECOND),
    )
    def queued(ctx: inngest.ContextSync) -> str:
        go_on.wait(20)
        return "done"

    serve(engine, client, [late, queued])
    (ends_late,) = send(engine, client, {}, name="late")
    first, second = send(engine, client, {}, {}, name="queued")
    # When the time is over, then both late ones are cancelled and the one that runs is not
    statuses = {engine.ended_run(ends_late)["status"]}
    waiting = eventually(lambda: [i for i in (first, second) if any(r["ended_at"] for r in engine.runs_of(i))])
    go_on.set()
    assert statuses == {"Cancelled"}
    assert len(waiting) == 1
    outcomes = sorted(engine.ended_run(i)["status"] for i in (first, second))
    assert outcomes == ["Cancelled", "Completed"]


def test_an_idempotency_key_starts_one_run_a_day(engine: EngineProcess, serve: ServeApp) -> None:
    # Given a function with an idempotency key
    client = make_client(engine)

    @client.create_function(fn_id="fn", trigger=trigger(client), idempotency="event.data.order")
    def fn(ctx: inngest.ContextSync) -> str:
        return "done"

    serve(engine, client, [fn])
    # When two events have the same key and one another
    same, again, other = send(engine, client, {"order": 1}, {"order": 1}, {"order": 2})
    # Then the first and the other ran
    assert engine.ended_run(same)["output"] == "done"
    assert engine.ended_run(other)["output"] == "done"
    assert engine.runs_of(again) == []

"""Which events start runs, and when."""

import time
from datetime import timedelta

import inngest

from tests.engine.clients import make_client
from tests.engine.conftest import ServeApp
from tests.engine.engine_process import EngineProcess
from tests.engine.sending import send, trigger
from tests.engine.waiting import eventually

SECOND = timedelta(seconds=1)


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


def test_batches_by_key_and_only_of_events_that_are_meant(engine: EngineProcess, serve: ServeApp) -> None:
    # Given batches of two events of one user, from which urgent events are left out
    client = make_client(engine)
    batches: list[list[str]] = []
    together = inngest.Batch(max_size=2, timeout=60 * SECOND, key="event.data.user", if_exp="event.data.urgent != true")

    @client.create_function(fn_id="fn", trigger=trigger(client), batch_events=together)
    def fn(ctx: inngest.ContextSync) -> None:
        batches.append(sorted(str(event.data["name"]) for event in ctx.events))

    serve(engine, client, [fn])
    # When events of two users come, among them an urgent one
    names = ["a1", "b1", "a-urgent", "b2", "a2"]
    ids = send(engine, client, *({"name": n, "user": n[0], "urgent": n.endswith("urgent")} for n in names))
    # Then each user's run together, and the urgent one by itself
    for event_id in ids:
        engine.ended_run(event_id)
    assert sorted(batches) == [["a-urgent"], ["a1", "a2"], ["b1", "b2"]]


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

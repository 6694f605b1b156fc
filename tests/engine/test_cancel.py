"""What stops runs."""

import threading
from datetime import timedelta
from functools import partial

import inngest

from tests.engine.clients import make_client
from tests.engine.conftest import ServeApp
from tests.engine.engine_process import EngineProcess
from tests.engine.sending import send, trigger
from tests.engine.waiting import eventually

SECOND = timedelta(seconds=1)


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

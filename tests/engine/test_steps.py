"""Every kind of step, through the real SDK."""

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import inngest
import pytest

from tests.engine.clients import make_client
from tests.engine.conftest import ServeApp
from tests.engine.engine_process import EngineProcess
from tests.engine.waiting import eventually


def send(engine: EngineProcess, client: inngest.Inngest, data: dict[str, Any] | None = None, name: str = "go") -> str:
    (event_id,) = engine.send({"name": f"{client.app_id}/{name}", "data": data or {}})
    return event_id


def test_steps_run_once_each_and_their_outputs_come_back(engine: EngineProcess, serve: ServeApp) -> None:
    # Given a function of two steps and a sleep
    client = make_client(engine)
    ran: list[str] = []

    @client.create_function(fn_id="fn", trigger=inngest.TriggerEvent(event=f"{client.app_id}/go"))
    def fn(ctx: inngest.ContextSync) -> dict[str, object]:
        def note(word: str) -> str:
            ran.append(word)
            return word

        first = ctx.step.run("first", note, "é😀")
        ctx.step.sleep("nap", timedelta(seconds=1))
        ctx.step.sleep_until("nap-more", datetime.now(UTC) - timedelta(seconds=1))
        second = ctx.step.run("first", note, "again")
        return {"first": first, "second": second, "event": dict(ctx.event.data)}

    serve(engine, client, [fn])
    # When its event comes
    run = engine.ended_run(send(engine, client, {"x": "ünï"}))
    # Then each step ran once and the run has the output
    assert run["status"] == "Completed"
    assert run["output"] == {"first": "é😀", "second": "again", "event": {"x": "ünï"}}
    assert ran == ["é😀", "again"]


def test_a_wait_ends_with_the_first_matching_event(engine: EngineProcess, serve: ServeApp) -> None:
    # Given a run that waits for an event about its own order
    client = make_client(engine)
    app = client.app_id

    @client.create_function(fn_id="fn", trigger=inngest.TriggerEvent(event=f"{app}/go"))
    def fn(ctx: inngest.ContextSync) -> object:
        found = ctx.step.wait_for_event(
            "wait", event=f"{app}/done", if_exp="async.data.order == event.data.order", timeout=timedelta(seconds=60)
        )
        return None if found is None else dict(found.data)

    serve(engine, client, [fn])
    event_id = send(engine, client, {"order": "o-1"})
    (run,) = eventually(lambda: engine.runs_of(event_id))
    eventually(lambda: waits(engine, run["run_id"]))
    # When events of other orders come, and then its own
    engine.send({"name": f"{app}/done", "data": {"order": "o-2"}}, {"name": f"{app}/other", "data": {"order": "o-1"}})
    assert not engine.runs_of(event_id)[0]["ended_at"]
    engine.send({"name": f"{app}/done", "data": {"order": "o-1", "n": 7}})
    # Then it goes on with that one
    assert engine.ended_run(event_id)["output"] == {"order": "o-1", "n": 7}


def test_a_wait_without_event_ends_with_nothing(engine: EngineProcess, serve: ServeApp) -> None:
    # Given a wait of one second
    client = make_client(engine)

    @client.create_function(fn_id="fn", trigger=inngest.TriggerEvent(event=f"{client.app_id}/go"))
    def fn(ctx: inngest.ContextSync) -> bool:
        return ctx.step.wait_for_event("wait", event=f"{client.app_id}/never", timeout=timedelta(seconds=1)) is None

    serve(engine, client, [fn])
    # When nothing comes, then the step gives None
    assert engine.ended_run(send(engine, client))["output"] is True


def test_a_wait_in_a_group_sees_the_event_its_sibling_sends(engine: EngineProcess, serve: ServeApp) -> None:
    # Given a group of a wait and a step that sends the awaited event at once
    client = make_client(engine)
    app = client.app_id

    @client.create_function(fn_id="fn", trigger=inngest.TriggerEvent(event=f"{app}/go"))
    def fn(ctx: inngest.ContextSync) -> object:
        key = ctx.run_id
        found, _ = ctx.group.parallel(
            (
                lambda: ctx.step.wait_for_event(
                    "wait", event=f"{app}/fact", if_exp=f"async.data.key == '{key}'", timeout=timedelta(seconds=30)
                ),
                lambda: ctx.step.send_event("look", inngest.Event(name=f"{app}/fact", data={"key": key})),
            )
        )
        return isinstance(found, inngest.Event) and found.data["key"] == key

    serve(engine, client, [fn])
    # When twenty of them run, then all end by the event
    ids = engine.send(*({"name": f"{app}/go", "data": {}} for _ in range(20)))
    assert [engine.ended_run(event_id)["output"] for event_id in ids] == [True] * 20


def test_invoke_gives_the_result_of_another_function(engine: EngineProcess, serve: ServeApp) -> None:
    # Given functions that invoke by object and by id, one that fails, and one that nobody knows
    client = make_client(engine)

    @client.create_function(fn_id="child", trigger=inngest.TriggerEvent(event=f"{client.app_id}/never"), retries=0)
    def child(ctx: inngest.ContextSync) -> object:
        ctx.step.sleep("nap", timedelta(milliseconds=100))
        if ctx.event.data.get("fails"):
            raise ValueError("the child broke")
        return {"doubled": int(str(ctx.event.data["n"])) * 2}

    @client.create_function(fn_id="fn", trigger=inngest.TriggerEvent(event=f"{client.app_id}/go"), retries=0)
    def fn(ctx: inngest.ContextSync) -> object:
        told: list[object] = [ctx.step.invoke("object", function=child, data={"n": 2})]
        told.append(ctx.step.invoke_by_id("id", function_id="child", data={"n": 3}))
        for name, function_id, data in (("bad", "child", {"fails": True}), ("none", "no-such", {})):
            try:
                ctx.step.invoke_by_id(name, function_id=function_id, data=data)
            except inngest.StepError as error:
                told.append(error.message)
        return told

    serve(engine, client, [child, fn])
    # When it runs
    run = engine.ended_run(send(engine, client))
    # Then results and errors reach the caller
    assert run["output"] == [
        {"doubled": 4},
        {"doubled": 6},
        "the child broke",
        f"could not find function with ID: {client.app_id}-no-such",
    ]


def test_an_invoke_that_lasts_too_long_is_an_error_of_the_step(engine: EngineProcess, serve: ServeApp) -> None:
    # Given a child that sleeps longer than its caller waits
    client = make_client(engine)

    @client.create_function(fn_id="child", trigger=inngest.TriggerEvent(event=f"{client.app_id}/never"))
    def child(ctx: inngest.ContextSync) -> None:
        ctx.step.sleep("long", timedelta(seconds=30))

    @client.create_function(fn_id="fn", trigger=inngest.TriggerEvent(event=f"{client.app_id}/go"), retries=0)
    def fn(ctx: inngest.ContextSync) -> str:
        try:
            ctx.step.invoke("call", function=child, timeout=timedelta(seconds=1))
        except inngest.StepError as error:
            return error.name
        return "no error"

    serve(engine, client, [child, fn])
    # When it runs, then the step fails with the timeout's name
    assert engine.ended_run(send(engine, client))["output"] == "InngestInvokeTimeoutError"


def group_function(
    client: inngest.Inngest, mode: inngest.ParallelMode, requests: list[bool], order: list[str], *, behind: str
) -> inngest.Function[Any]:
    """Two chains of two steps; the first step of the second chain takes until the step `behind` has run."""

    @client.create_function(fn_id="fn", trigger=inngest.TriggerEvent(event=f"{client.app_id}/go"), retries=0)
    def fn(ctx: inngest.ContextSync) -> None:
        requests.append(True)

        def slow(name: str) -> None:
            # Not for a fixed time: on a busy machine a round trip takes longer than any.
            ends = time.monotonic() + 20
            while behind not in order and time.monotonic() < ends:
                time.sleep(0.01)
            time.sleep(0.3)
            order.append(name)

        def first() -> None:
            ctx.step.run("a.1", order.append, "a.1")
            ctx.step.run("a.2", order.append, "a.2")

        def second() -> None:
            ctx.step.run("b.1", slow, "b.1")
            ctx.step.run("b.2", slow, "b.2")

        ctx.group.parallel((first, second), parallel_mode=mode)

    return fn


def test_a_group_that_waits_is_asked_once_all_its_steps_are_done(engine: EngineProcess, serve: ServeApp) -> None:
    # Given two chains of two steps in one group
    client = make_client(engine)
    requests: list[bool] = []
    order: list[str] = []
    serve(engine, client, [group_function(client, inngest.ParallelMode.WAIT, requests, order, behind="a.1")])
    # When it runs
    assert engine.ended_run(send(engine, client))["status"] == "Completed"
    # Then the second steps start together, and seven requests were made
    assert order == ["a.1", "b.1", "a.2", "b.2"]
    assert len(requests) == 7


def test_a_racing_group_is_asked_after_each_step(engine: EngineProcess, serve: ServeApp) -> None:
    # Given the same chains, racing
    client = make_client(engine)
    requests: list[bool] = []
    order: list[str] = []
    serve(engine, client, [group_function(client, inngest.ParallelMode.RACE, requests, order, behind="a.2")])
    # When it runs
    assert engine.ended_run(send(engine, client))["status"] == "Completed"
    # Then the quick chain runs ahead, and nine requests were made
    assert order == ["a.1", "a.2", "b.1", "b.2"]
    assert len(requests) == 9


def test_a_run_with_more_than_four_mebibytes_is_fetched_by_the_app(engine: EngineProcess, serve: ServeApp) -> None:
    # Given steps whose outputs together are larger than a request may be
    client = make_client(engine)

    @client.create_function(fn_id="fn", trigger=inngest.TriggerEvent(event=f"{client.app_id}/go"), retries=0)
    def fn(ctx: inngest.ContextSync) -> object:
        parts = [ctx.step.run(f"part-{n}", lambda: "x" * 1_500_000) for n in range(4)]
        return [sum(len(part) for part in parts), ctx.events[0].data["k"]]

    serve(engine, client, [fn])
    # When it runs, then the function still sees all of them and its event
    assert engine.ended_run(send(engine, client, {"k": "v"}))["output"] == [6_000_000, "v"]


def test_a_step_output_over_the_limit_fails_the_run_and_names_its_size(engine: EngineProcess, serve: ServeApp) -> None:
    # Given a step that returns five million characters
    client = make_client(engine)

    @client.create_function(fn_id="fn", trigger=inngest.TriggerEvent(event=f"{client.app_id}/go"))
    def fn(ctx: inngest.ContextSync) -> None:
        ctx.step.run("big", lambda: "x" * 5_000_000)

    serve(engine, client, [fn])
    # When it runs
    run = engine.ended_run(send(engine, client))
    # Then it fails at once, saying how much it was
    assert run["status"] == "Failed"
    assert "5000002 bytes" in run["output"]["message"]
    assert "'big'" in run["output"]["message"]


@pytest.mark.load
def test_a_run_whose_state_is_over_the_limit_fails_and_names_its_size(engine: EngineProcess, serve: ServeApp) -> None:
    # Given steps whose outputs are each allowed, and together more than 32 MiB
    client = make_client(engine)

    @client.create_function(fn_id="fn", trigger=inngest.TriggerEvent(event=f"{client.app_id}/go"), retries=0)
    def fn(ctx: inngest.ContextSync) -> None:
        for number in range(10):
            ctx.step.run(f"part {number}", lambda: "x" * 4_000_000)

    serve(engine, client, [fn])
    # When it runs, then the ninth is one too many
    run = engine.ended_run(send(engine, client), within=60)
    assert run["status"] == "Failed"
    assert run["output"]["name"] == "InngestErrStateOverflowed"
    assert re.search(r"the run's state has 36000\d{3} bytes; at most 33554432 \(32 MiB\)", run["output"]["message"])


def test_a_run_with_too_many_steps_fails_and_names_the_limit(engine: EngineProcess, serve: ServeApp) -> None:
    # Given a group of more steps than a run may have
    client = make_client(engine)

    @client.create_function(fn_id="fn", trigger=inngest.TriggerEvent(event=f"{client.app_id}/go"))
    def fn(ctx: inngest.ContextSync) -> None:
        def step(n: int) -> Callable[[], int]:
            return lambda: ctx.step.run(f"s{n}", lambda: n)

        ctx.group.parallel(tuple(step(n) for n in range(1001)))

    serve(engine, client, [fn])
    # When it runs, then it fails with the limit's name
    run = engine.ended_run(send(engine, client))
    assert run["status"] == "Failed"
    assert run["output"]["name"] == "InngestErrFunctionOverflowed"
    assert "1000 steps" in run["output"]["message"]


def test_a_run_over_two_apps_by_invoke(engine: EngineProcess, serve: ServeApp) -> None:
    # Given two apps
    one, two = make_client(engine), make_client(engine)

    @two.create_function(fn_id="other", trigger=inngest.TriggerEvent(event=f"{two.app_id}/never"))
    def other(ctx: inngest.ContextSync) -> str:
        return "from two"

    @one.create_function(fn_id="fn", trigger=inngest.TriggerEvent(event=f"{one.app_id}/go"))
    def fn(ctx: inngest.ContextSync) -> object:
        return ctx.step.invoke_by_id("call", app_id=two.app_id, function_id="other")

    serve(engine, two, [other])
    serve(engine, one, [fn])
    # When one invokes the other, then the result crosses
    assert engine.ended_run(send(engine, one))["output"] == "from two"


def waits(engine: EngineProcess, run_id: str) -> bool:
    root = engine.get(f"/v2/runs/{run_id}/trace")["data"]["rootSpan"]
    return any(span["status"] == "WAITING" for span in root["children"])

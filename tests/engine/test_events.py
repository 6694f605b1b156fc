"""POST /e/{key} and what events start."""

import base64
import json
import time
import urllib.error
import urllib.request
from datetime import timedelta
from typing import Any

import inngest
import pytest

from tests.engine.clients import make_client
from tests.engine.conftest import ServeApp
from tests.engine.engine_process import EngineProcess
from tests.engine.waiting import eventually


def echo(client: inngest.Inngest, *triggers: inngest.TriggerEvent) -> inngest.Function[Any]:
    @client.create_function(fn_id="echo", trigger=list(triggers) or inngest.TriggerEvent(event=f"{client.app_id}/go"))
    def fn(ctx: inngest.ContextSync) -> object:
        return dict(ctx.event.data)

    return fn


def refusal(engine: EngineProcess, body: Any) -> dict[str, Any]:
    with pytest.raises(urllib.error.HTTPError) as caught:
        engine.request("POST", "/e/key", body)
    assert caught.value.code == 400
    with caught.value as answer:
        told: dict[str, Any] = json.loads(answer.read())
    return told


def test_the_second_event_of_an_id_starts_nothing(engine: EngineProcess, serve: ServeApp) -> None:
    # Given a function
    client = make_client(engine)
    serve(engine, client, [echo(client)])
    name = f"{client.app_id}/go"
    # When two events with one id come, and one with another
    first, second, other = engine.send(
        {"name": name, "id": "x", "data": {"n": 1}},
        {"name": name, "id": "x", "data": {"n": 2}},
        {"name": name, "id": "y"},
    )
    # Then the second is stored and starts nothing
    assert engine.ended_run(first)["output"] == {"n": 1}
    assert engine.ended_run(other)["output"] == {}
    assert engine.get(f"/v1/events/{second}")["data"]["data"] == {"n": 2}
    assert engine.runs_of(second) == []


def test_a_repeated_request_with_its_seed_runs_once(engine: EngineProcess, serve: ServeApp) -> None:
    # Given a function
    client = make_client(engine)
    serve(engine, client, [echo(client)])
    # When a sender repeats a request
    seed = f"{int(time.time() * 1000)},{base64.b64encode(bytes(range(10))).decode()}"
    body = [{"name": f"{client.app_id}/go", "data": {"n": n}} for n in range(2)]
    answers = [engine.request("POST", "/e/key", body, {"x-inngest-event-id-seed": seed})["ids"] for _ in range(2)]
    # Then both get the same ids, both copies are listed and each event ran once
    assert answers[0] == answers[1]
    assert len(set(answers[0])) == 2
    assert [engine.ended_run(event_id)["output"] for event_id in answers[0]] == [{"n": 0}, {"n": 1}]
    assert len(engine.get(f"/v1/events?name={client.app_id}/go")["data"]) == 4


def test_expressions_and_patterns_choose_what_runs(engine: EngineProcess, serve: ServeApp) -> None:
    # Given a function for a pattern of names, under a condition, and for one name besides
    client = make_client(engine)
    app = client.app_id
    condition = "event.data.size > 3 && lowercase(event.data.word) == 'yes'"
    triggers = (
        inngest.TriggerEvent(event=f"{app}/made.*", expression=condition),
        inngest.TriggerEvent(event=f"{app}/made.x"),
    )
    serve(engine, client, [echo(client, *triggers)])
    # When events come
    yes, small, missing, twice = engine.send(
        {"name": f"{app}/made.a", "data": {"size": 4, "word": "YES"}},
        {"name": f"{app}/made.a", "data": {"size": 3, "word": "YES"}},
        {"name": f"{app}/made.a", "data": {}},
        {"name": f"{app}/made.x", "data": {"size": 4, "word": "yes"}},
    )
    # Then those run that match, and once although two triggers do
    assert engine.ended_run(yes)["status"] == "Completed"
    assert engine.ended_run(twice)["status"] == "Completed"
    assert engine.runs_of(small) == engine.runs_of(missing) == []


def test_an_event_of_the_future_starts_its_run_then(engine: EngineProcess, serve: ServeApp) -> None:
    # Given a function
    client = make_client(engine)
    serve(engine, client, [echo(client)])
    # When an event of the next second comes
    at = int(time.time() * 1000) + 1200
    (event_id,) = engine.send({"name": f"{client.app_id}/go", "ts": at, "data": {}})
    # Then its run exists, queued, and begins then
    (run,) = engine.runs_of(event_id)
    assert engine.get(f"/v2/runs/{run['run_id']}")["data"]["status"] == "QUEUED"
    engine.ended_run(event_id)
    assert time.time() * 1000 >= at


def test_bad_events_are_refused_and_the_ones_before_them_kept(engine: EngineProcess) -> None:
    good = {"name": "test/good", "data": {}}
    for bad, reason in (
        ({"name": ""}, "must have a name"),
        ({"name": "inngest/function.failed", "data": {}}, "reserved"),
        ({"name": "x" * 513}, "513"),
        ({"name": "test/x", "data": [1]}, "must be an object"),
        ({"name": "test/x", "ts": 5}, "before 1980"),
        ({"name": "test/x", "ts": 253_402_300_800_000}, "after the year 9999"),
        ({"name": "test/x", "ts": 1 << 64}, "after the year 9999"),
        ({"name": "test/x", "ts": 1e300}, "after the year 9999"),
        ("text", "must be an object"),
    ):
        told = refusal(engine, [good, bad, good])
        assert len(told["ids"]) == 1
        assert reason in told["error"]


def test_limits_name_the_size(engine: EngineProcess) -> None:
    too_big = refusal(engine, {"name": "test/big", "data": {"text": "é" * 1_600_000}})
    assert "bytes" in too_big["error"]
    assert "3 MiB" in too_big["error"]
    too_many = refusal(engine, [{"name": "test/many"}] * 5001)
    assert "5001" in too_many["error"]


@pytest.mark.case("B62")
def test_text_that_cannot_be_signed_is_cleaned(engine: EngineProcess, serve: ServeApp) -> None:
    # Given a function
    client = make_client(engine)
    serve(engine, client, [echo(client)])
    # When an event holds a lone surrogate, a large integer and our own field
    (event_id,) = engine.send(
        {"name": f"{client.app_id}/go", "data": {"text": "a\ud83db", "n": 9007199254740993, "_inngest": {"fn_id": "x"}}}
    )
    # Then the run sees clean text, the integer as it was, and no such field
    assert engine.ended_run(event_id)["output"] == {"text": "a\ufffdb", "n": 9007199254740993}


@pytest.mark.case("B62")
@pytest.mark.parametrize(
    "body",
    [
        b'{"name": "test/odd", "data": {"n": NaN}}',
        b'{"name": "test/odd", "data": {"n": -Infinity}}',
        b'{"name": "test/odd", "data": {"n": 1e400}}',
        b'{"name": "test/odd", "data": {"text": "\xff\xfe"}}',
        b"\xff\xfe",
        b'{"name": "test/odd"',
        b"[" * 100_000,
    ],
)
def test_a_body_that_is_no_json_is_refused(engine: EngineProcess, body: bytes) -> None:
    request = urllib.request.Request(f"{engine.url}/e/key", data=body, method="POST")
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request, timeout=30)
    with caught.value as refused:
        answer = json.loads(refused.read())
    assert caught.value.code == 400
    assert answer["ids"] == []
    assert "not JSON" in answer["error"]


def test_names_and_ids_that_no_database_takes_are_cleaned(engine: EngineProcess, serve: ServeApp) -> None:
    # Given a function whose step has such a name and which waits for such a value
    client = make_client(engine)
    odd = "a\0b\ud83dc"

    @client.create_function(fn_id="fn", trigger=inngest.TriggerEvent(event=f"{client.app_id}/go"))
    def fn(ctx: inngest.ContextSync) -> object:
        value = ctx.step.run("odd\0name", lambda: ctx.event.data["value"])
        ctx.step.wait_for_event(
            "wait", event="test/never", if_exp="async.data.x == event.data.value", timeout=timedelta(seconds=1)
        )
        return value

    serve(engine, client, [fn, echo(client)])
    # When an event of an odd id and value comes, then its run ends
    (event_id,) = engine.send({"name": f"{client.app_id}/go", "id": odd, "data": {"value": odd}})
    engine.send({"name": odd, "data": {odd: odd}}, {"name": "test/never", "data": {"x": odd + "x"}})
    eventually(lambda: len([run for run in engine.runs_of(event_id) if run["ended_at"]]) == 2)
    assert {run["status"] for run in engine.runs_of(event_id)} == {"Completed"}


def test_what_becomes_of_runs_is_told_in_events(engine: EngineProcess, serve: ServeApp) -> None:
    # Given functions that end well, fail, are cancelled and invoke another, and one that hears the engine's own events
    client = make_client(engine)
    app = client.app_id
    heard: set[tuple[str, str]] = set()

    def named(name: str) -> inngest.TriggerEvent:
        return inngest.TriggerEvent(event=f"{app}/{name}")

    @client.create_function(fn_id="child", trigger=named("never"))
    def child(ctx: inngest.ContextSync) -> str:
        return "done"

    @client.create_function(fn_id="good", trigger=named("good"))
    def good(ctx: inngest.ContextSync) -> str:
        return ctx.step.invoke("call", function=child)

    @client.create_function(fn_id="bad", trigger=named("bad"), retries=0)
    def bad(ctx: inngest.ContextSync) -> None:
        raise inngest.NonRetriableError("no")

    @client.create_function(fn_id="long", trigger=named("long"), cancel=[inngest.Cancel(event=f"{app}/stop")])
    def long(ctx: inngest.ContextSync) -> None:
        ctx.step.sleep("nap", timedelta(seconds=60))

    kinds = ("finished", "failed", "cancelled", "invoked")

    @client.create_function(
        fn_id="hears", trigger=[inngest.TriggerEvent(event=f"inngest/function.{kind}") for kind in kinds]
    )
    def hears(ctx: inngest.ContextSync) -> None:
        data: Any = ctx.event.data
        about = data.get("function_id") or data["_inngest"]["fn_id"]
        heard.add((ctx.event.name.rpartition(".")[2], about.removeprefix(f"{app}-")))

    serve(engine, client, [child, good, bad, long, hears])
    # When each of them runs
    good_one, _, sleeping = engine.send({"name": f"{app}/good"}, {"name": f"{app}/bad"}, {"name": f"{app}/long"})
    eventually(lambda: engine.runs_of(sleeping) and engine.runs_of(sleeping)[0]["status"] == "Running")
    engine.send({"name": f"{app}/stop"})
    # Then every end is told as such, a failure and a cancelling besides, and so is the invoking
    expected = {("invoked", "child"), ("failed", "bad"), ("cancelled", "long")}
    expected |= {("finished", name) for name in ("child", "good", "bad", "long")}
    eventually(lambda: expected <= heard)
    # And the step that invoked got the result of the function it named, not of the one that listened
    assert engine.ended_run(good_one)["output"] == "done"
    # Whoever listens to everything leaves before the other tests of this engine
    engine.request("POST", "/fn/register", {"appname": app, "functions": []})


def test_no_events_is_no_error(engine: EngineProcess) -> None:
    assert engine.request("POST", "/e/key", []) == {"ids": [""], "status": 200}

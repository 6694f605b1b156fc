"""What happens when steps, functions and apps fail."""

import time
from datetime import timedelta

import inngest

from tests.engine.clients import make_client
from tests.engine.conftest import ServeApp
from tests.engine.engine_process import EngineProcess
from tests.engine.waiting import eventually


def send(engine: EngineProcess, client: inngest.Inngest) -> str:
    (event_id,) = engine.send({"name": f"{client.app_id}/go", "data": {"k": "v"}})
    return event_id


def trigger(client: inngest.Inngest) -> inngest.TriggerEvent:
    return inngest.TriggerEvent(event=f"{client.app_id}/go")


def test_attempts_count_per_step_and_begin_anew_with_each(engine: EngineProcess, serve: ServeApp) -> None:
    # Given two steps that each succeed at their second attempt
    client = make_client(engine)
    attempts: list[tuple[str, int]] = []

    @client.create_function(fn_id="fn", trigger=trigger(client), retries=1)
    def fn(ctx: inngest.ContextSync) -> list[str]:
        def flaky(name: str) -> str:
            attempts.append((name, ctx.attempt))
            if ctx.attempt == 0:
                raise ValueError("not yet")
            return name

        return [ctx.step.run("a", flaky, "a"), ctx.step.run("b", flaky, "b")]

    serve(engine, client, [fn])
    # When it runs
    run = engine.ended_run(send(engine, client))
    # Then each was tried twice
    assert run["output"] == ["a", "b"]
    assert attempts == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    # And the trace tells of the attempts, with the error of the first
    root = engine.get(f"/v2/runs/{run['run_id']}/trace?includeOutput=true")["data"]["rootSpan"]
    first = root["children"][0]
    assert [(span["name"], span["status"]) for span in first["children"]] == [
        ("Attempt 0", "FAILED"),
        ("Attempt 1", "COMPLETED"),
    ]
    assert first["children"][0]["output"]["message"] == "not yet"
    assert first["output"] == {"data": "a"}


def test_a_step_out_of_attempts_raises_in_the_function(engine: EngineProcess, serve: ServeApp) -> None:
    # Given functions that catch and that do not catch the error of a step
    client = make_client(engine)
    bodies: list[str] = []

    @client.create_function(fn_id="catches", trigger=trigger(client), retries=1)
    def catches(ctx: inngest.ContextSync) -> str:
        def broken() -> None:
            bodies.append("catches")
            raise ValueError("broken")

        try:
            ctx.step.run("bad", broken)
        except inngest.StepError as error:
            return f"{error.name}: {error.message}"
        return "no error"

    serve(engine, client, [catches])
    # When it runs, then the step was tried as often as it may and the function goes on
    assert engine.ended_run(send(engine, client))["output"] == "ValueError: broken"
    assert bodies == ["catches"] * 2


def test_an_uncaught_step_error_ends_the_run_and_on_failure_hears_of_it(engine: EngineProcess, serve: ServeApp) -> None:
    # Given a function with a failing step and a failure handler
    client = make_client(engine)
    heard: list[dict[str, object]] = []

    def on_failure(ctx: inngest.ContextSync) -> None:
        heard.append(dict(ctx.event.data))

    @client.create_function(fn_id="fn", trigger=trigger(client), retries=0, on_failure=on_failure)
    def fn(ctx: inngest.ContextSync) -> None:
        ctx.step.run("bad", lambda: list[int]()[1])

    serve(engine, client, [fn])
    # When it runs
    run = engine.ended_run(send(engine, client))
    # Then it failed, and the handler ran once with the event and the error
    assert run["status"] == "Failed"
    assert "IndexError" in str(run["output"])
    eventually(lambda: heard)
    (told,) = heard
    assert told["run_id"] == run["run_id"]
    assert told["function_id"] == f"{client.app_id}-fn"
    assert told["event"]["data"] == {"k": "v"}  # type: ignore[index]
    assert told["error"]["message"] == "list index out of range"  # type: ignore[index]


def test_function_errors_are_retried_and_fail_in_the_end(engine: EngineProcess, serve: ServeApp) -> None:
    # Given a function whose own code fails at every attempt, after a step
    client = make_client(engine)
    attempts: list[int] = []
    steps: list[int] = []

    @client.create_function(fn_id="fn", trigger=trigger(client), retries=2)
    def fn(ctx: inngest.ContextSync) -> None:
        ctx.step.run("once", steps.append, 1)
        attempts.append(ctx.attempt)
        raise ValueError("always")

    serve(engine, client, [fn])
    # When it runs, then it is tried three times, the step once
    run = engine.ended_run(send(engine, client))
    assert run["status"] == "Failed"
    assert run["output"]["message"] == "always"
    assert attempts == [0, 1, 2]
    assert steps == [1]


def test_non_retriable_errors_end_at_once(engine: EngineProcess, serve: ServeApp) -> None:
    # Given a function that raises one
    client = make_client(engine)
    attempts: list[int] = []

    @client.create_function(fn_id="fn", trigger=trigger(client), retries=5)
    def fn(ctx: inngest.ContextSync) -> None:
        attempts.append(ctx.attempt)
        raise inngest.NonRetriableError("never again")

    serve(engine, client, [fn])
    # When it runs, then it is tried once
    run = engine.ended_run(send(engine, client))
    assert (run["status"], run["output"]["message"]) == ("Failed", "never again")
    assert attempts == [0]


def test_retry_after_is_honoured(engine: EngineProcess, serve: ServeApp) -> None:
    # Given a step that asks to be tried again in two seconds
    client = make_client(engine)
    moments: list[float] = []

    @client.create_function(fn_id="fn", trigger=trigger(client), retries=1)
    def fn(ctx: inngest.ContextSync) -> str:
        def flaky() -> str:
            moments.append(time.monotonic())
            if len(moments) == 1:
                raise inngest.RetryAfterError("later", timedelta(seconds=2))
            return "done"

        return ctx.step.run("flaky", flaky)

    serve(engine, client, [fn])
    # When it runs, then the second attempt comes then, although the engine's own interval is shorter
    assert engine.ended_run(send(engine, client))["output"] == "done"
    assert moments[1] - moments[0] > 1.5


def test_an_app_that_is_away_is_tried_again_and_told_of_plainly(engine: EngineProcess, serve: ServeApp) -> None:
    # Given an app that goes away
    client = make_client(engine)

    @client.create_function(fn_id="fn", trigger=trigger(client), retries=20)
    def fn(ctx: inngest.ContextSync) -> str:
        return "done"

    app = serve(engine, client, [fn])
    app.stop()
    # When its event comes, then the run waits and its trace says why
    event_id = send(engine, client)
    (run,) = eventually(lambda: engine.runs_of(event_id))

    def told() -> str:
        root = engine.get(f"/v2/runs/{run['run_id']}/trace?includeOutput=true")["data"]["rootSpan"]
        attempts = [attempt for span in root["children"] for attempt in span.get("children", [])]
        return str(attempts[0]["output"]["message"]) if attempts else ""

    assert eventually(told).startswith(f"Unable to reach SDK URL {app.url}")
    # And when the app is back, it ends
    app.start()
    assert engine.ended_run(event_id)["output"] == "done"


def test_an_app_that_never_comes_fails_the_run(engine: EngineProcess, serve: ServeApp) -> None:
    # Given an app that is gone for good
    client = make_client(engine)

    @client.create_function(fn_id="fn", trigger=trigger(client), retries=1)
    def fn(ctx: inngest.ContextSync) -> str:
        return "done"

    app = serve(engine, client, [fn])
    app.stop()
    # When its event comes, then the run fails and says that the app could not be reached
    run = engine.ended_run(send(engine, client))
    assert run["status"] == "Failed"
    assert run["output"]["message"].startswith(f"Unable to reach SDK URL {app.url}")


def test_a_server_that_is_no_sdk_is_a_failed_attempt(engine: EngineProcess, serve: ServeApp) -> None:
    # Given an app whose address now answers with somebody else's pages
    client = make_client(engine)

    @client.create_function(fn_id="fn", trigger=trigger(client), retries=0)
    def fn(ctx: inngest.ContextSync) -> str:
        return "done"

    app = serve(engine, client, [fn])
    app.answer_as_stranger()
    # When its event comes, then the run fails for that reason
    run = engine.ended_run(send(engine, client))
    assert run["status"] == "Failed"
    assert run["output"]["name"] == "Server returned a fatal error"

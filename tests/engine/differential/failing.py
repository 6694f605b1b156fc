"""Cases of failure: retries, errors that end a run, errors that are caught."""

from datetime import timedelta

import inngest

from tests.engine.differential.kit import Did, Kit


class Broken(Exception):
    """What the functions raise."""


def add_cases(kit: Kit) -> None:
    """Errors in steps, in functions and in invoked functions."""

    @kit.case("step-retry", retries=2)
    def step_retry(ctx: inngest.ContextSync, did: Did) -> object:
        ctx.step.run("fine", did, "fine")

        def flaky() -> int:
            did("flaky")
            if ctx.attempt < 2:
                raise Broken("not yet")
            return ctx.attempt

        return [ctx.step.run("flaky", flaky), ctx.step.run("last", did, "last", ctx.attempt)]

    @kit.case("function-retry", retries=1)
    def function_retry(ctx: inngest.ContextSync, did: Did) -> object:
        ctx.step.run("fine", did, "fine")
        did("body")
        if ctx.attempt == 0:
            raise Broken("not yet")
        return ctx.attempt

    @kit.case("step-fails", retries=1)
    def step_fails(ctx: inngest.ContextSync, did: Did) -> object:
        def broken() -> None:
            did("broken")
            raise Broken("for good")

        return ctx.step.run("broken", broken)

    @kit.case("step-error-caught", retries=0)
    def step_error_caught(ctx: inngest.ContextSync, did: Did) -> object:
        def broken() -> None:
            did("broken")
            raise Broken("for good")

        try:
            ctx.step.run("broken", broken)
        except inngest.StepError as error:
            return ctx.step.run("instead", did, "instead", [error.name, error.message])
        return None

    @kit.case("function-fails", retries=1)
    def function_fails(ctx: inngest.ContextSync, did: Did) -> object:
        did("body")
        raise Broken("for good")

    @kit.case("non-retriable", retries=3)
    def non_retriable(ctx: inngest.ContextSync, did: Did) -> object:
        def final() -> None:
            did("final")
            raise inngest.NonRetriableError("no more")

        return ctx.step.run("final", final)

    @kit.case("retry-after", retries=1)
    def retry_after(ctx: inngest.ContextSync, did: Did) -> object:
        def later() -> int:
            did("later")
            if ctx.attempt == 0:
                raise inngest.RetryAfterError("in a second", timedelta(seconds=1))
            return ctx.attempt

        return ctx.step.run("later", later)

    @kit.case("no-json", retries=3)
    def no_json(ctx: inngest.ContextSync, did: Did) -> object:
        did("body")
        return object()

    def broken_child(ctx: inngest.ContextSync, did: Did) -> object:
        did("child")
        raise inngest.NonRetriableError("the child is broken")

    child = kit.function("broken-child", "invoke-fails", broken_child)

    @kit.case("invoke-fails")
    def invoke_fails(ctx: inngest.ContextSync, did: Did) -> object:
        try:
            ctx.step.invoke("child", function=child)
        except inngest.StepError as error:
            return [error.name, error.message]
        return None

    @kit.case("parallel-fails", retries=0, ordered=False)
    def parallel_fails(ctx: inngest.ContextSync, did: Did) -> object:
        def broken() -> None:
            did("broken")
            raise Broken("in a group")

        return ctx.group.parallel((lambda: ctx.step.run("broken", broken), lambda: ctx.step.run("ok", did, "ok")))

    def failed(ctx: inngest.ContextSync) -> None:
        error = ctx.event.data["error"]
        assert isinstance(error, dict)
        kit.note("on-failure", f"hook: {error['message']}", ctx.attempt)

    @kit.case("on-failure", retries=0, on_failure=failed)
    def on_failure(ctx: inngest.ContextSync, did: Did) -> object:
        did("body")
        raise Broken("tell it")

    def seen(ctx: inngest.ContextSync, did: Did) -> None:
        did(f"finished: {ctx.event.data.get('result')}")

    kit.function(
        "observer",
        "finished-event",
        seen,
        trigger=inngest.TriggerEvent(
            event="inngest/function.finished",
            expression=f"event.data.function_id == '{kit.client.app_id}-finished-event'",
        ),
    )

    @kit.case("finished-event")
    def finished_event(ctx: inngest.ContextSync, did: Did) -> object:
        return "the end"

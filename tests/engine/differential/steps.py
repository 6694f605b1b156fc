"""Cases of steps: each kind, repeated ids, groups."""

from datetime import timedelta
from typing import Any

import inngest

from tests.engine.differential.kit import Did, Kit, Later

_SECOND = timedelta(seconds=1)
_TEXT = {"text": "Curaçao & crème 😀 <b>", "big": 9007199254740991, "part": 0.5, "none": None, "list": [1, [2, {}]]}


def add_cases(kit: Kit) -> None:
    """Every kind of step that the SDK has."""

    @kit.case("sequence")
    def sequence(ctx: inngest.ContextSync, did: Did) -> object:
        return [ctx.step.run(name, did, name, name) for name in ("a", "b", "c")]

    @kit.case("same-id")
    def same_id(ctx: inngest.ContextSync, did: Did) -> object:
        return [ctx.step.run("again", did, f"again {n}", n) for n in range(3)]

    @kit.case("no-steps")
    def no_steps(ctx: inngest.ContextSync, did: Did) -> object:
        return did("body")

    @kit.case("values", {"given": _TEXT})
    def values(ctx: inngest.ContextSync, did: Did) -> object:
        return [ctx.event.data["given"], ctx.step.run("text", did, "text", _TEXT), ctx.step.run("none", did, "none")]

    @kit.case("event-shape", {"x": 1})
    def event_shape(ctx: inngest.ContextSync, did: Did) -> object:
        return [
            ctx.event.name.partition("/")[2],
            dict(ctx.event.data),
            len(ctx.events),
            ctx.event.id != "",
            ctx.attempt,
        ]

    @kit.case("sleep")
    def sleep(ctx: inngest.ContextSync, did: Did) -> object:
        ctx.step.run("before", did, "before")
        ctx.step.sleep("nap", _SECOND)
        return ctx.step.run("after", did, "after", "rested")

    @kit.case(
        "wait",
        {"key": "k"},
        later=[Later("ready", "fact", {"key": "other", "n": 1}), Later("ready", "fact", {"key": "k", "n": 2})],
    )
    def wait(ctx: inngest.ContextSync, did: Did) -> object:
        ctx.step.run("ready", did, "ready")
        found = ctx.step.wait_for_event(
            "fact", event=kit.event("fact"), if_exp="async.data.key == event.data.key", timeout=timedelta(minutes=1)
        )
        return found and dict(found.data)

    @kit.case("wait-in-vain")
    def wait_in_vain(ctx: inngest.ContextSync, did: Did) -> object:
        return ctx.step.wait_for_event("never", event=kit.event("never"), timeout=_SECOND) is None

    @kit.case("send-event")
    def send_event(ctx: inngest.ContextSync, did: Did) -> object:
        ids = ctx.step.send_event("send", [inngest.Event(name=kit.event(name)) for name in ("one", "two")])
        return len(ids)

    child = kit.function("child", "invoke", lambda ctx, did: ctx.step.run("child", did, "child", ctx.event.data["n"]))

    @kit.case("invoke")
    def invoke(ctx: inngest.ContextSync, did: Did) -> object:
        ctx.step.run("before", did, "before")
        first = ctx.step.invoke("object", function=child, data={"n": 1})
        second = ctx.step.invoke_by_id("id", app_id=kit.client.app_id, function_id="child", data={"n": 2})
        return [first, second]

    sleeper = kit.function("sleeper", "invoke-timeout", lambda ctx, did: ctx.step.sleep("long", timedelta(seconds=5)))

    @kit.case("invoke-timeout", retries=0)
    def invoke_timeout(ctx: inngest.ContextSync, did: Did) -> object:
        try:
            return ctx.step.invoke("slow", function=sleeper, timeout=_SECOND)
        except inngest.StepError as error:
            return [error.name, error.message]

    @kit.case("invoke-unknown", retries=0)
    def invoke_unknown(ctx: inngest.ContextSync, did: Did) -> object:
        try:
            return ctx.step.invoke_by_id("none", function_id="nobody")
        except inngest.StepError as error:
            return error.name

    @kit.case("parallel", ordered=False)
    def parallel(ctx: inngest.ContextSync, did: Did) -> object:
        def nap() -> None:
            ctx.step.sleep("nap", _SECOND)

        def run(name: str) -> Any:
            return lambda: ctx.step.run(name, did, name, name)

        found = ctx.group.parallel((run("a"), nap, run("b")))
        return [*found, ctx.step.run("after", did, "after", "after")]

    @kit.case("race", ordered=False)
    def race(ctx: inngest.ContextSync, did: Did) -> object:
        def nap() -> None:
            ctx.step.sleep("nap", timedelta(seconds=3))

        ctx.group.parallel((nap, lambda: ctx.step.run("quick", did, "quick")), parallel_mode=inngest.ParallelMode.RACE)
        return ctx.step.run("after", did, "after", "first")

"""Cases of function options: what decides about starting, holding, cancelling."""

import time
from datetime import timedelta

import inngest

from tests.engine.differential.kit import Did, Kit, Later

_SECOND = timedelta(seconds=1)


def add_cases(kit: Kit) -> None:
    """Options of which the outcome does not hang on the machine's speed."""

    @kit.case(
        "expression",
        {"n": 1},
        {"n": 2},
        trigger=inngest.TriggerEvent(
            event=kit.event("expression"), expression="event.data.n > 1 && event.data.missing == null"
        ),
    )
    def expression(ctx: inngest.ContextSync, did: Did) -> object:
        return ctx.event.data["n"]

    @kit.case(
        "several",
        {"name": kit.event("several/x"), "data": {}},
        {"name": kit.event("other"), "data": {}},
        runs=2,
        trigger=[inngest.TriggerEvent(event=kit.event("several/*")), inngest.TriggerEvent(event=kit.event("other"))],
    )
    def several(ctx: inngest.ContextSync, did: Did) -> object:
        return ctx.event.name.partition("/")[2]

    @kit.case("idempotency", {"id": "a"}, {"id": "a"}, {"id": "b"}, runs=2, idempotency="event.data.id")
    def idempotency(ctx: inngest.ContextSync, did: Did) -> object:
        return ctx.event.data["id"]

    twice = {"name": kit.event("event-id"), "id": f"{kit.client.app_id}-1", "data": {}}

    @kit.case("event-id", twice, twice)
    def event_id(ctx: inngest.ContextSync, did: Did) -> object:
        return did("body")

    @kit.case(
        "rate-limit",
        {"u": "a"},
        {"u": "a"},
        {"u": "b"},
        runs=2,
        rate_limit=inngest.RateLimit(limit=1, period=timedelta(minutes=1), key="event.data.u"),
    )
    def rate_limit(ctx: inngest.ContextSync, did: Did) -> object:
        return ctx.event.data["u"]

    @kit.case("debounce", {"n": 1}, {"n": 2}, {"n": 3}, debounce=inngest.Debounce(period=_SECOND))
    def debounce(ctx: inngest.ContextSync, did: Did) -> object:
        return did("body", len(ctx.events))

    @kit.case(
        "batch", {"n": 1}, {"n": 1}, runs=1, batch_events=inngest.Batch(max_size=2, timeout=timedelta(seconds=30))
    )
    def batch(ctx: inngest.ContextSync, did: Did) -> object:
        return did("body", [event.data["n"] for event in ctx.events])

    @kit.case("batch-timeout", {"n": 1}, batch_events=inngest.Batch(max_size=9, timeout=_SECOND))
    def batch_timeout(ctx: inngest.ContextSync, did: Did) -> object:
        return did("body", len(ctx.events))

    @kit.case("singleton-skip", {}, {}, singleton=inngest.Singleton(mode="skip"))
    def singleton_skip(ctx: inngest.ContextSync, did: Did) -> object:
        ctx.step.sleep("nap", timedelta(seconds=2))
        return did("body")

    @kit.case("concurrency", {}, {}, runs=2, ordered=False, concurrency=[inngest.Concurrency(limit=1)])
    def concurrency(ctx: inngest.ContextSync, did: Did) -> object:
        def alone() -> None:
            did(f"enter with {len(inside)}")
            inside.append(1)
            time.sleep(0.3)
            inside.pop()

        return ctx.step.run("alone", alone)

    inside: list[int] = []

    @kit.case(
        "cancel",
        {"key": "k"},
        later=[Later("begun", "stop", {"key": "no"}), Later("begun", "stop", {"key": "k"})],
        cancel=[inngest.Cancel(event=kit.event("stop"), if_exp="async.data.key == event.data.key")],
    )
    def cancel(ctx: inngest.ContextSync, did: Did) -> object:
        ctx.step.run("begun", did, "begun")
        ctx.step.sleep("long", timedelta(seconds=6))
        return ctx.step.run("after", did, "after")

    @kit.case("finish-timeout", timeouts=inngest.Timeouts(finish=_SECOND))
    def finish_timeout(ctx: inngest.ContextSync, did: Did) -> object:
        ctx.step.sleep("long", timedelta(seconds=6))
        return ctx.step.run("after", did, "after")

    @kit.case("throttle", {}, {}, runs=2, throttle=inngest.Throttle(limit=1, period=timedelta(seconds=2)))
    def throttle(ctx: inngest.ContextSync, did: Did) -> object:
        return did("body")

"""An app whose functions show everything that the pages have to show."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import inngest

HOSTILE = "</pre><script>alert(1)</script>"


def shop(client: inngest.Inngest) -> list[inngest.Function[Any]]:
    """`order/placed` (with `hold` it waits for `order/delivered`), `bad/thing`, `*/5` and nightly crons."""

    @client.create_function(fn_id="receipt", name="Send a receipt", trigger=inngest.TriggerEvent(event="receipt/asked"))
    def receipt(ctx: inngest.ContextSync) -> object:
        return ctx.step.run("mail", lambda: {"mailed": ctx.event.data.get("to")})

    @client.create_function(
        fn_id="charge",
        name=f"Charge {HOSTILE}",
        trigger=inngest.TriggerEvent(event="order/placed", expression="event.data.total > 0"),
        retries=2,
        concurrency=[inngest.Concurrency(limit=5, key="event.data.customer")],
        cancel=[inngest.Cancel(event="order/cancelled", if_exp="async.data.id == event.data.id")],
    )
    def charge(ctx: inngest.ContextSync) -> object:
        def pay() -> object:
            if ctx.attempt < 1:
                raise ValueError(f"declined {HOSTILE}")
            return {"charge": HOSTILE}

        ctx.step.run("charge card", pay)
        ctx.step.invoke("send receipt", function=receipt, data={"to": "ada"})
        if ctx.event.data.get("hold"):
            came = ctx.step.wait_for_event(
                "await delivery",
                event="order/delivered",
                timeout=timedelta(days=3),
                if_exp="async.data.id == event.data.id",
            )
            return came.data if came else None
        return {"total": ctx.event.data["total"], "note": HOSTILE}

    @client.create_function(
        fn_id="bad", name="Always fails", trigger=inngest.TriggerEvent(event="bad/thing"), retries=1
    )
    def bad(ctx: inngest.ContextSync) -> None:
        raise RuntimeError("it is broken")

    @client.create_function(
        fn_id="nightly",
        name="Nightly report",
        trigger=[inngest.TriggerCron(cron="TZ=Europe/Oslo 0 3 1 1 *"), inngest.TriggerCron(cron="30 12 29 2 *")],
    )
    def nightly(ctx: inngest.ContextSync) -> None:
        return None

    @client.create_function(fn_id="count", name="Count", trigger=inngest.TriggerEvent(event="count/asked"))
    def count(ctx: inngest.ContextSync) -> None:
        """Many steps with long outputs."""
        ctx.group.parallel(tuple(_counted(ctx, number) for number in range(int(str(ctx.event.data["to"])))))

    @client.create_function(
        fn_id="pair",
        name="In pairs",
        trigger=inngest.TriggerEvent(event="pair/half"),
        batch_events=inngest.Batch(max_size=2, timeout=timedelta(seconds=60)),
    )
    def pair(ctx: inngest.ContextSync) -> object:
        return [event.data["n"] for event in ctx.events]

    return [charge, receipt, bad, nightly, count, pair]


def _counted(ctx: inngest.ContextSync, number: int) -> Callable[[], object]:
    return lambda: ctx.step.run(f"number {number}", lambda: {"number": number, "text": "x" * 5000})

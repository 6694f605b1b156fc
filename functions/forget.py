"""Durable function that deletes from the memory what a person has confirmed on a card."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import inngest

from core.events import ForgetRequested
from functions.shell import as_step, parse_event
from memory import cascade, receipts
from memory.dependencies import MemoryDependencies

_MOST_CHECKS = 5


def forget(client: inngest.Inngest, dependencies: MemoryDependencies) -> inngest.Function[str]:
    """Trigger `memory/forget.requested`. Steps: `clear`; then `check-<n>`, `pause-<n>` until nothing is left.

    The row of the confirmed card authorises it and says what to forget. While the search index is unavailable, the
    watch rings again.
    """

    @client.create_function(fn_id="forget", trigger=inngest.TriggerEvent(event=ForgetRequested.name), retries=8)
    def handler(ctx: inngest.ContextSync) -> str:
        request = parse_event(ForgetRequested, ctx.event)
        workspace_id, card_id = request.workspace_id, request.card_id
        state = str(
            ctx.step.run("clear", as_step(partial(cascade.clear_forgotten, dependencies, workspace_id, card_id)))
        )
        for n in range(1, _MOST_CHECKS + 1):
            if state != "cleared":
                break
            if n > 1:
                ctx.step.sleep(f"pause-{n}", timedelta(seconds=n))
            state = str(
                ctx.step.run(
                    f"check-{n}", as_step(partial(receipts.check_forgotten, dependencies, workspace_id, card_id))
                )
            )
        return state

    return handler

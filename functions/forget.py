"""Durable function that forgets what a person confirmed on a card."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import inngest

from core.events import ForgetRequested
from functions.shell import as_step, parse_event
from memory import cascade, receipts
from memory.dependencies import MemoryDependencies

_LOOKS = 5


def forget(client: inngest.Inngest, dependencies: MemoryDependencies) -> inngest.Function[str]:
    """Trigger `memory/forget.requested`. Steps: `clear`; `check-<n>`, `pause-<n>` until nothing is left.

    The confirmed card's own row authorises it, and says what; while the index is away the watch rings again.
    """

    @client.create_function(fn_id="forget", trigger=inngest.TriggerEvent(event=ForgetRequested.name), retries=8)
    def handler(ctx: inngest.ContextSync) -> str:
        asked = parse_event(ForgetRequested, ctx.event)
        where, card_id = asked.workspace_id, asked.card_id
        state = str(ctx.step.run("clear", as_step(partial(cascade.clear_forgotten, dependencies, where, card_id))))
        for n in range(1, _LOOKS + 1):
            if state != "cleared":
                break
            if n > 1:
                ctx.step.sleep(f"pause-{n}", timedelta(seconds=n))
            state = str(
                ctx.step.run(f"check-{n}", as_step(partial(receipts.check_forgotten, dependencies, where, card_id)))
            )
        return state

    return handler

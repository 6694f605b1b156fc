"""A task's turn, as a durable function."""

from __future__ import annotations

import inngest

from core.events import TurnRequested
from functions.shell import heard
from functions.turn_failed import turn_failed
from functions.turn_loop import work
from runtime.parts import RuntimeParts


def run_turn(client: inngest.Inngest, parts: RuntimeParts) -> inngest.Function[str]:
    """Trigger `turn/requested`. Steps: `open`, `decide-<n>`, `call-<n>-<seq>`, `close`."""

    @client.create_function(
        fn_id="run-turn",
        trigger=inngest.TriggerEvent(event=TurnRequested.name),
        retries=20,
        on_failure=turn_failed(parts, TurnRequested),
    )
    def handler(ctx: inngest.ContextSync) -> str:
        asked = heard(TurnRequested, ctx.event)
        return work(ctx, parts, asked.workspace_id, asked.turn_id)

    return handler

"""Main's answer to one message, as a durable function."""

from __future__ import annotations

import inngest

from core.events import MainRequested
from functions.shell import heard
from functions.turn_failed import turn_failed
from functions.turn_loop import work
from runtime.parts import RuntimeParts


def answer_in_main(client: inngest.Inngest, parts: RuntimeParts) -> inngest.Function[str]:
    """Trigger `message/main.requested`. Steps as `run-turn`'s, with Main's tools, which look, or ask on a card."""

    @client.create_function(
        fn_id="answer-in-main",
        trigger=inngest.TriggerEvent(event=MainRequested.name),
        retries=20,
        on_failure=turn_failed(parts, MainRequested),
    )
    def handler(ctx: inngest.ContextSync) -> str:
        asked = heard(MainRequested, ctx.event)
        return work(ctx, parts, asked.workspace_id, asked.turn_id)

    return handler

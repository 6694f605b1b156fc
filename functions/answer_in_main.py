"""Durable function that answers one message in Main."""

from __future__ import annotations

import inngest

from core.events import MainRequested
from functions.shell import parse_event
from functions.turn_loop import make_failure_hook, work_on_turn
from runtime.dependencies import RuntimeDependencies


def answer_in_main(client: inngest.Inngest, dependencies: RuntimeDependencies) -> inngest.Function[str]:
    """Trigger `message/main.requested`. Steps as in `run-turn`, with Main's tools, which read or ask with a card."""

    @client.create_function(
        fn_id="answer-in-main",
        trigger=inngest.TriggerEvent(event=MainRequested.name),
        retries=20,
        on_failure=make_failure_hook(dependencies, MainRequested),
    )
    def handler(ctx: inngest.ContextSync) -> str:
        request = parse_event(MainRequested, ctx.event)
        return work_on_turn(ctx, dependencies, request.workspace_id, request.turn_id)

    return handler

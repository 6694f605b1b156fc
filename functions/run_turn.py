"""Durable function that works on a task's turn."""

from __future__ import annotations

import inngest

from core.events import TurnRequested
from functions.shell import parse_event
from functions.turn_loop import make_failure_hook, work_on_turn
from runtime.dependencies import RuntimeDependencies


def run_turn(client: inngest.Inngest, dependencies: RuntimeDependencies) -> inngest.Function[str]:
    """Trigger `turn/requested`. Steps: `open`, `decide-<n>`, `call-<n>-<seq>`, `close`."""

    @client.create_function(
        fn_id="run-turn",
        trigger=inngest.TriggerEvent(event=TurnRequested.name),
        retries=20,
        on_failure=make_failure_hook(dependencies, TurnRequested),
    )
    def handler(ctx: inngest.ContextSync) -> str:
        request = parse_event(TurnRequested, ctx.event)
        return work_on_turn(ctx, dependencies, request.workspace_id, request.turn_id)

    return handler

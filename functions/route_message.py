"""Durable function that routes a message."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Protocol

import inngest

from core.database import Database
from core.events import MessageReceived
from functions.routable_works import RoutableWorks
from functions.shell import as_step, parse_event
from router import dispatch, judgement
from router.dependencies import RouterDependencies
from runtime.dependencies import RuntimeDependencies


class RoutingDependencies(Protocol):
    """The part of what the composition root hands in that routing uses."""

    @property
    def database(self) -> Database: ...
    @property
    def runtime(self) -> RuntimeDependencies: ...


def route_message(client: inngest.Inngest, dependencies: RoutingDependencies) -> inngest.Function[str]:
    """Trigger `message/received`. Steps: `pick`; `verdict`, if the model has to decide; `deliver`."""
    router = RouterDependencies(
        dependencies.database, dependencies.runtime.model, RoutableWorks(), dependencies.runtime.lease
    )

    @client.create_function(
        fn_id="route-message",
        trigger=inngest.TriggerEvent(event=MessageReceived.name),
        retries=20,
        # One run at a time in a workspace, so that the model is not asked twice. `pick` and `deliver` keep the order by
        # themselves.
        concurrency=[inngest.Concurrency(key="event.data.workspace_id", limit=1)],
    )
    def handler(ctx: inngest.ContextSync) -> str:
        received = parse_event(MessageReceived, ctx.event)
        workspace_id = received.workspace_id
        picked = ctx.step.run(
            "pick", as_step(partial(judgement.pick_message, router, workspace_id, received.message_id))
        )
        if not isinstance(picked, Mapping):
            return "nothing waits"
        message_id = str(picked["message_id"])
        if not picked["decided"]:
            ctx.step.run(
                "verdict", as_step(partial(judgement.judge_message, router, workspace_id, message_id, ctx.attempt))
            )
        return str(
            ctx.step.run("deliver", as_step(partial(dispatch.dispatch_message, router, workspace_id, message_id)))
        )

    return handler

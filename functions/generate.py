"""Durable function that follows an order from its submission to its settlement."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

import inngest

from core.errors import NotFoundError
from core.events import GenerationNews, GenerationOrdered
from functions.shell import LOST, as_step, parse_event
from generation.dependencies import GenerationDependencies
from generation.execution.poll import poll_order
from generation.execution.recovery import ring_for_next_run, ring_if_news
from generation.execution.settlement import settle_order
from workspace.works import file_output

ROUNDS_OF_RUN = 200
"""Waits of one run; then it rings for the order's next run, long before the engine's limit on steps."""


def generate(client: inngest.Inngest, dependencies: GenerationDependencies) -> inngest.Function[str]:
    """Trigger `generation/ordered`. Steps: `submit`; `news-<n>`, `look-<n>`, `poll-<n>`; `settle`; `again`.

    Both `submit` and `poll-<n>` call `poll_order`, which submits an order that the provider has not accepted yet.
    """

    @client.create_function(fn_id="generate", trigger=inngest.TriggerEvent(event=GenerationOrdered.name), retries=20)
    def handler(ctx: inngest.ContextSync) -> str:
        request = parse_event(GenerationOrdered, ctx.event)
        order = (request.workspace_id, request.order_id)
        found: Any = ctx.step.run("submit", as_step(partial(_submit, dependencies, *order)))
        for n in range(1, ROUNDS_OF_RUN + 1):
            if found == LOST or found["next"] != "wait":
                break
            _wait(ctx, dependencies, order, n, found)
            found = ctx.step.run(f"poll-{n}", as_step(partial(_poll, dependencies, *order)))
        if found == LOST:
            return LOST
        if found["next"] == "settle":
            found = ctx.step.run("settle", as_step(partial(_settle, dependencies, *order)))
        elif found["next"] == "wait":
            ctx.step.run("again", as_step(partial(ring_for_next_run, dependencies.database, *order)))
        return LOST if found == LOST else str(found["state"])

    return handler


def _wait(
    ctx: inngest.ContextSync,
    dependencies: GenerationDependencies,
    order: tuple[str, str],
    n: int,
    found: dict[str, Any],
) -> None:
    """Wait for news of the order, at most for its pause. The step `look` finds news that came before the wait.

    The engine registers the wait before it runs that step, so no news is missed.
    """
    look = partial(ring_if_news, dependencies.database, *order, found["seen"], f"{ctx.run_id}:{n}")
    ctx.group.parallel(
        (
            lambda: ctx.step.wait_for_event(
                f"news-{n}",
                event=GenerationNews.name,
                if_exp="event.data.order_id == async.data.order_id",
                timeout=timedelta(seconds=found["pause"]),
            ),
            lambda: ctx.step.run(f"look-{n}", as_step(look)),
        )
    )


def _submit(dependencies: GenerationDependencies, workspace_id: str, order_id: str) -> dict[str, Any] | str:
    """Submit the order, or poll it where it was submitted before; a bell without an order is ignored."""
    try:
        return poll_order(dependencies, workspace_id, order_id).to_output()
    except NotFoundError:
        return LOST


def _poll(dependencies: GenerationDependencies, workspace_id: str, order_id: str) -> dict[str, Any]:
    return poll_order(dependencies, workspace_id, order_id).to_output()


def _settle(dependencies: GenerationDependencies, workspace_id: str, order_id: str) -> dict[str, Any]:
    return settle_order(dependencies, file_output, workspace_id, order_id).to_output()

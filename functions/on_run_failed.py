"""Durable function that follows up on any function's run that failed for good."""

from __future__ import annotations

from functools import partial

import inngest

from core.events import RunFailed
from functions.shell import as_step, parse_engine_event
from skills.review import repair
from skills.review.dependencies import ReviewDependencies
from skills.review.repair import FailedSkillRun


def on_run_failed(client: inngest.Inngest, dependencies: ReviewDependencies) -> inngest.Function[str]:
    """Trigger `inngest/function.failed`. Step: `tell`. Answers `repair`, `told`, `not ours`, or why there is no repair.

    A failure of `notify` is told nobody: the notice about it would go the way that is broken.
    """
    deaf = f"{client.app_id}-notify"

    @client.create_function(fn_id="on-run-failed", trigger=inngest.TriggerEvent(event=RunFailed.name), retries=8)
    def handler(ctx: inngest.ContextSync) -> str:
        told = parse_engine_event(RunFailed, ctx.event)
        if told.function_id == deaf:
            return "the notices themselves fail"
        failed = FailedSkillRun(told.function_id, told.run_id, told.error, told.event)
        return str(
            ctx.step.run("tell", as_step(partial(repair.report_failed_run, dependencies, failed, client.app_id)))
        )

    return handler

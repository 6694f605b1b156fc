"""Durable function that reports a run that has failed for good, and starts the repair of a skill."""

from __future__ import annotations

from functools import partial

import inngest

from core.events import RunFailed
from functions.shell import as_step, parse_engine_event
from skills.review import repair
from skills.review.dependencies import ReviewDependencies
from skills.review.repair import FailedSkillRun


def on_run_failed(client: inngest.Inngest, dependencies: ReviewDependencies) -> inngest.Function[str]:
    """Trigger `inngest/function.failed`. Step: `tell`.

    Returns `repair`, `told`, `not ours`, or why there is no repair. A failure of `notify` is not reported: the notice
    about it would have to go by the channel that is broken.
    """
    notify_id = f"{client.app_id}-notify"

    @client.create_function(fn_id="on-run-failed", trigger=inngest.TriggerEvent(event=RunFailed.name), retries=8)
    def handler(ctx: inngest.ContextSync) -> str:
        failure = parse_engine_event(RunFailed, ctx.event)
        if failure.function_id == notify_id:
            return "the notices themselves fail"
        failed = FailedSkillRun(failure.function_id, failure.run_id, failure.error, failure.event)
        return str(
            ctx.step.run("tell", as_step(partial(repair.report_failed_run, dependencies, failed, client.app_id)))
        )

    return handler

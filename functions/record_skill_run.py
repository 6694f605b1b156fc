"""Durable function that records how the runs of skills end."""

from __future__ import annotations

from functools import partial

import inngest

from core.database import Database
from core.events import RunFinished
from functions.shell import as_step, parse_engine_event
from skills.lifecycle import run_end
from skills.lifecycle.run_end import SKILL_APP_PREFIX, EndedRun


def record_skill_run(client: inngest.Inngest, database: Database, failures: int) -> inngest.Function[str]:
    """Trigger `inngest/function.finished`, for functions of skills only. No steps; returns what has changed.

    The filter on the trigger keeps other runs, its own included, from costing a call each. A repeat is harmless
    because the run's row is written once.
    """

    @client.create_function(
        fn_id="record-skill-run",
        trigger=inngest.TriggerEvent(
            event=RunFinished.name, expression=f"event.data.function_id.startsWith('{SKILL_APP_PREFIX}')"
        ),
        retries=8,
    )
    def handler(ctx: inngest.ContextSync) -> str:
        finished = parse_engine_event(RunFinished, ctx.event)
        end = EndedRun(
            function=finished.function_id,
            run_id=finished.run_id,
            status=finished.status,
            at=finished.at,
            output=finished.result if finished.status == "completed" else None,
            error=finished.error if finished.status == "failed" else None,
            event=finished.event,
        )
        return as_step(partial(run_end.record_engine_end, database, end, failures))()

    return handler

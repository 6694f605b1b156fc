"""Durable function that records the ends of skills' runs in their ledger."""

from __future__ import annotations

from functools import partial

import inngest

from core.database import Database
from core.events import RunFinished
from functions.shell import as_step, parse_engine_event
from skills.lifecycle import run_end
from skills.lifecycle.run_end import SKILL_APP_PREFIX, EndedRun


def record_skill_run(client: inngest.Inngest, database: Database, failures: int) -> inngest.Function[str]:
    """Trigger `inngest/function.finished` of skills' functions, so that no other run's end costs a call, nor its own.

    One call and no step: the run's row is what makes a repeat harmless. Answers what that changed.
    """

    @client.create_function(
        fn_id="record-skill-run",
        trigger=inngest.TriggerEvent(
            event=RunFinished.name, expression=f"event.data.function_id.startsWith('{SKILL_APP_PREFIX}')"
        ),
        retries=8,
    )
    def handler(ctx: inngest.ContextSync) -> str:
        told = parse_engine_event(RunFinished, ctx.event)
        end = EndedRun(
            function=told.function_id,
            run_id=told.run_id,
            status=told.status,
            at=told.at,
            output=told.result if told.status == "completed" else None,
            error=told.error if told.status == "failed" else None,
            event=told.event,
        )
        return as_step(partial(run_end.record_engine_end, database, end, failures))()

    return handler

"""Durable function that stores in the memory what people have said."""

from __future__ import annotations

from functools import partial

import inngest

from core.events import MessageAnswered, TurnFinished
from functions.shell import as_step, parse_event
from memory import keeping, looking
from memory.dependencies import MemoryDependencies

_MOST_QUIET_PERIODS = 6
"""Lengths of the quiet period after which messages are read even though new ones keep coming."""
_MOST_ROUNDS = 20
_FAILED = "failed"


def remember(client: inngest.Inngest, dependencies: MemoryDependencies) -> inngest.Function[str]:
    """Triggers `turn/finished`, `message/answered`, debounced. Steps: `look-<n>`, `keep-<n>-<m>`.

    The rows say which messages to read, so one run serves many bells. Nothing waits for it, and a failed step does not
    fail the run: the watch rings again for what was not read.
    """

    @client.create_function(
        fn_id="remember",
        trigger=[inngest.TriggerEvent(event=TurnFinished.name), inngest.TriggerEvent(event=MessageAnswered.name)],
        debounce=inngest.Debounce(
            key="event.data.workspace_id", period=dependencies.quiet, timeout=dependencies.quiet * _MOST_QUIET_PERIODS
        ),
        retries=3,
    )
    def handler(ctx: inngest.ContextSync) -> str:
        rung: type[TurnFinished | MessageAnswered]
        rung = MessageAnswered if ctx.event.name == MessageAnswered.name else TurnFinished
        workspace_id = parse_event(rung, ctx.event).workspace_id
        kept = 0
        for n in range(1, _MOST_ROUNDS + 1):
            try:
                found = ctx.step.run(
                    f"look-{n}", as_step(partial(looking.read_due_messages, dependencies, workspace_id, ctx.run_id))
                )
            except inngest.StepError as error:
                return f"left for later: {error}"
            waiting = found if isinstance(found, list) else []
            outcomes = [
                _keep(ctx, dependencies, workspace_id, f"keep-{n}-{m}", str(one))
                for m, one in enumerate(waiting, start=1)
            ]
            kept += sum(one.startswith("kept") for one in outcomes)
            if not outcomes or _FAILED in outcomes:
                # What could not be judged waits for another run; this one would find it again in every round.
                break
        return f"{kept} kept"

    return handler


def _keep(
    ctx: inngest.ContextSync, dependencies: MemoryDependencies, workspace_id: str, name: str, candidate_id: str
) -> str:
    try:
        return str(
            ctx.step.run(name, as_step(partial(keeping.judge_candidate, dependencies, workspace_id, candidate_id)))
        )
    except inngest.StepError:
        # The other candidates are judged all the same.
        return _FAILED

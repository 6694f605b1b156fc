"""Durable function that remembers what people said."""

from __future__ import annotations

from functools import partial

import inngest

from core.events import MessageAnswered, TurnFinished
from functions.shell import as_step, parse_event
from memory import keeping, looking
from memory.dependencies import MemoryDependencies

_LONGEST = 6
"""After so many quiet times it is read although it is not quiet yet."""
_MOST_ROUNDS = 20
_FAILED = "failed"


def remember(client: inngest.Inngest, dependencies: MemoryDependencies) -> inngest.Function[str]:
    """Triggers `turn/finished`, `message/answered`, once it has been quiet. Steps: `look-<n>`, `keep-<n>-<m>`.

    Which messages are read is in the rows: one run reads what many bells rang for. Nobody waits for it, and its
    failures are nobody's: what was not read is rung for again.
    """

    @client.create_function(
        fn_id="remember",
        trigger=[inngest.TriggerEvent(event=TurnFinished.name), inngest.TriggerEvent(event=MessageAnswered.name)],
        debounce=inngest.Debounce(
            key="event.data.workspace_id", period=dependencies.quiet, timeout=dependencies.quiet * _LONGEST
        ),
        retries=3,
    )
    def handler(ctx: inngest.ContextSync) -> str:
        rung: type[TurnFinished | MessageAnswered]
        rung = MessageAnswered if ctx.event.name == MessageAnswered.name else TurnFinished
        where = parse_event(rung, ctx.event).workspace_id
        kept = 0
        for n in range(1, _MOST_ROUNDS + 1):
            try:
                found = ctx.step.run(
                    f"look-{n}", as_step(partial(looking.read_due_messages, dependencies, where, ctx.run_id))
                )
            except inngest.StepError as error:
                return f"left for later: {error}"
            waiting = found if isinstance(found, list) else []
            said = [
                _keep(ctx, dependencies, where, f"keep-{n}-{m}", str(one)) for m, one in enumerate(waiting, start=1)
            ]
            kept += sum(one.startswith("kept") for one in said)
            if not said or _FAILED in said:
                # What could not be judged waits for another run; here it would be met again and again.
                break
        return f"{kept} kept"

    return handler


def _keep(ctx: inngest.ContextSync, dependencies: MemoryDependencies, where: str, name: str, candidate_id: str) -> str:
    try:
        return str(ctx.step.run(name, as_step(partial(keeping.judge_candidate, dependencies, where, candidate_id))))
    except inngest.StepError:
        # Its siblings are judged all the same.
        return _FAILED

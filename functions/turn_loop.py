"""Loop of a turn, for tasks and for Main: open, decide, call, close; and the hook for a run that has failed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import inngest

from core.errors import ModelError, NotFoundError
from core.events import MainRequested, TurnRequested
from functions.shell import as_step, parse_event
from runtime.dependencies import RuntimeDependencies
from runtime.loop import decision, entry, tool_call, turn_end

MOST_DECISIONS_OF_RUN = 20
"""Decisions of one run; a longer turn goes on in the next run.

Each time the engine calls the function, it sends the results of all steps of the run so far, which are checked and
parsed every time. After about twenty decisions that costs more than another run does.
"""


def work_on_turn(ctx: inngest.ContextSync, dependencies: RuntimeDependencies, workspace_id: str, turn_id: str) -> str:
    """Work on a turn from where its rows say it is; return how this run has left it.

    Steps: `open`, `decide-<n>`, `call-<n>-<seq>`; then `close`, `part` where another run goes on, or `fail` where the
    model's answer is unusable.
    """
    run_id = ctx.run_id
    first = ctx.step.run("open", as_step(partial(_open_step, dependencies, workspace_id, turn_id, run_id)))
    if not isinstance(first, int):
        return str(first)
    for n in range(first, first + MOST_DECISIONS_OF_RUN):
        decided = ctx.step.run(
            f"decide-{n}", as_step(partial(_decide_step, dependencies, workspace_id, turn_id, run_id, n))
        )
        if not isinstance(decided, Mapping):
            return str(decided)
        if "unusable" in decided:
            failed = ctx.step.run(
                "fail", as_step(partial(_fail_step, dependencies, workspace_id, turn_id, run_id, decided))
            )
            return str(failed)
        ends = decided["calls"] == 0
        for seq in range(decided["calls"]):
            called = ctx.step.run(
                f"call-{n}-{seq}", as_step(partial(_call_step, dependencies, workspace_id, turn_id, run_id, n, seq))
            )
            if not isinstance(called, Mapping):
                return str(called)
            ends = ends or bool(called["ends"])
        if ends:
            return str(
                ctx.step.run(
                    "close", as_step(partial(turn_end.close_turn, dependencies, workspace_id, turn_id, run_id))
                )
            )
    return str(
        ctx.step.run("part", as_step(partial(entry.hand_over_turn, dependencies, workspace_id, turn_id, run_id)))
    )


def _open_step(dependencies: RuntimeDependencies, workspace_id: str, turn_id: str, run_id: str) -> int | str:
    try:
        return entry.open_turn(dependencies, workspace_id, turn_id, run_id)
    except NotFoundError as error:
        # A bell without a turn is ignored.
        return str(error)


def _decide_step(
    dependencies: RuntimeDependencies, workspace_id: str, turn_id: str, run_id: str, n: int
) -> dict[str, Any]:
    try:
        return {"calls": decision.decide_step(dependencies, workspace_id, turn_id, run_id, n).calls}
    except ModelError as error:
        return {"unusable": str(error)}


def _call_step(
    dependencies: RuntimeDependencies, workspace_id: str, turn_id: str, run_id: str, n: int, seq: int
) -> dict[str, Any]:
    called = tool_call.run_call(dependencies, workspace_id, turn_id, run_id, n, seq)
    return {"status": called.status, "ends": called.ends}


def _fail_step(
    dependencies: RuntimeDependencies, workspace_id: str, turn_id: str, run_id: str, decided: Mapping[str, Any]
) -> str:
    turn_end.fail_turn(dependencies, workspace_id, turn_id, run_id, str(decided["unusable"]))
    return "failed"


def make_failure_hook(
    dependencies: RuntimeDependencies, kind: type[TurnRequested] | type[MainRequested]
) -> Callable[[inngest.ContextSync], None]:
    """Make the hook that fails the turn of a run that has failed for good. Step: `fail`.

    It does nothing while the turn's lease is alive (the watch rings again once it has expired), or where another run
    has replaced the failed one.
    """

    def hook(ctx: inngest.ContextSync) -> None:
        original = ctx.event.data.get("event")
        data = original.get("data") if isinstance(original, Mapping) else None
        request = parse_event(kind, inngest.Event(name=kind.name, data=data if isinstance(data, Mapping) else {}))
        run_id, reason = str(ctx.event.data.get("run_id")), _reason_of(ctx.event.data.get("error"))
        ctx.step.run(
            "fail",
            as_step(lambda: turn_end.fail_turn(dependencies, request.workspace_id, request.turn_id, run_id, reason)),
        )

    return hook


def _reason_of(error: Any) -> str:
    message = error.get("message") if isinstance(error, Mapping) else None
    return str(message or "the work failed more often than it may be tried")[:500]

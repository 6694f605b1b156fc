"""The body of a turn's run, the same for a task and for Main: open, decide, call, close."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import inngest

from core.errors import ModelError, NotFoundError
from functions.shell import stepped
from runtime import calling, closing, deciding, entering
from runtime.parts import RuntimeParts

MOST_DECISIONS = 20
"""Decisions of one run; a longer turn goes on in the next run.

Each call of a run brings the results of all its steps so far, to be checked and read anew: after some twenty decisions
that costs more than another run does.
"""


def work(ctx: inngest.ContextSync, parts: RuntimeParts, workspace_id: str, turn_id: str) -> str:
    """Drive a turn from its rows; answers how this run left it.

    Steps: `open`, `decide-<n>`, `call-<n>-<seq>`, then `close`, or `part` where another run goes on.
    """
    run_id = ctx.run_id
    first = ctx.step.run("open", stepped(partial(_open, parts, workspace_id, turn_id, run_id)))
    if not isinstance(first, int):
        return str(first)
    for n in range(first, first + MOST_DECISIONS):
        decided = ctx.step.run(f"decide-{n}", stepped(partial(_decide, parts, workspace_id, turn_id, run_id, n)))
        if not isinstance(decided, Mapping):
            return str(decided)
        if "unusable" in decided:
            failed = ctx.step.run("fail", stepped(partial(_fail, parts, workspace_id, turn_id, run_id, decided)))
            return str(failed)
        ends = decided["calls"] == 0
        for seq in range(decided["calls"]):
            called = ctx.step.run(
                f"call-{n}-{seq}", stepped(partial(_call, parts, workspace_id, turn_id, run_id, n, seq))
            )
            if not isinstance(called, Mapping):
                return str(called)
            ends = ends or bool(called["ends"])
        if ends:
            return str(ctx.step.run("close", stepped(partial(closing.close, parts, workspace_id, turn_id, run_id))))
    return str(ctx.step.run("part", stepped(partial(entering.hand_over, parts, workspace_id, turn_id, run_id))))


def _open(parts: RuntimeParts, workspace_id: str, turn_id: str, run_id: str) -> int | str:
    try:
        return entering.open_turn(parts, workspace_id, turn_id, run_id)
    except NotFoundError as error:
        # A bell without its rows: nothing happens.
        return str(error)


def _decide(parts: RuntimeParts, workspace_id: str, turn_id: str, run_id: str, n: int) -> dict[str, Any]:
    try:
        return {"calls": deciding.decide(parts, workspace_id, turn_id, run_id, n).calls}
    except ModelError as error:
        return {"unusable": str(error)}


def _call(parts: RuntimeParts, workspace_id: str, turn_id: str, run_id: str, n: int, seq: int) -> dict[str, Any]:
    called = calling.run_call(parts, workspace_id, turn_id, run_id, n, seq)
    return {"status": called.status, "ends": called.ends}


def _fail(parts: RuntimeParts, workspace_id: str, turn_id: str, run_id: str, decided: Mapping[str, Any]) -> str:
    closing.fail(parts, workspace_id, turn_id, run_id, str(decided["unusable"]))
    return "failed"

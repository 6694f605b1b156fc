"""One step of a turn: claim the inputs, ask the model, and store the decision before anything of it is done."""

from __future__ import annotations

from dataclasses import dataclass

from core.database import Scope
from core.model import Decision
from runtime import inbox
from runtime.context import build
from runtime.inbox import Item
from runtime.messages import set_state
from runtime.parts import RuntimeParts
from runtime.turns import ledger, rows
from runtime.turns.lease import TurnFence, hold
from runtime.turns.rows import Turn


@dataclass(frozen=True)
class Decided:
    """How many calls the stored decision proposes; none ends the stretch."""

    calls: int


def decide(parts: RuntimeParts, workspace_id: str, turn_id: str, run_id: str, n: int) -> Decided:
    """Answer the stored decision of step `n`, or make and store it.

    The model is asked only while no decision is stored. Raises LostError, BusyError, and the model port's errors.
    """
    with hold(parts.database, workspace_id, turn_id, run_id, parts.lease) as fence:
        with parts.database.transaction(workspace_id) as scope:
            fence.check(scope)
            if ledger.step(scope, turn_id, n) is not None:
                fence.release(scope)
                return Decided(len(ledger.calls_of_step(scope, turn_id, n)))
            turn = rows.get(scope, turn_id)
            items = [] if turn.task_id is None else inbox.claim(scope, turn.task_id, turn_id, n)
        with parts.database.reading(workspace_id) as scope:
            request = build.for_main(scope, turn, parts) if turn.task_id is None else build.for_task(
                scope, turn, items, parts
            )  # fmt: skip
        decision = parts.model.decide(request.messages, request.tools)
        with parts.database.transaction(workspace_id) as scope:
            _record(scope, parts, fence, turn, n, decision, items, request)
    return Decided(len(decision.calls))


def _record(
    scope: Scope,
    parts: RuntimeParts,
    fence: TurnFence,
    turn: Turn,
    n: int,
    decision: Decision,
    items: list[Item],
    request: build.Request,
) -> None:
    fence.check(scope)
    effects = {name: tool.effect for name, tool in parts.tools_for(turn.task_id).items()}
    ledger.record_decision(scope, fence, n, decision, effects, request.layers)
    inbox.consume(scope, items, turn.id, n)
    if turn.message_id is not None:
        set_state(scope, turn.message_id, "consumed", was=("delivered", "routed"), turn_id=turn.id)
    fence.release(scope)

"""The shapes of a turn, its steps and their calls."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import TypedDict

from app.web.presenters.values import Moment, moment
from core.database import Scope
from runtime.inbox import inbox
from runtime.statuses import InputKind
from runtime.turns import ledger_queries, rows
from runtime.turns.ledger import Call, Step
from runtime.turns.rows import Turn


class CallShape(TypedDict):
    id: str
    tool: str
    effect: str
    status: str
    started_at: Moment | None
    finished_at: Moment | None
    result_ref: str | None


class StepShape(TypedDict):
    """One decision of a model, with the inputs it read and the calls it proposed."""

    n: int
    epoch: int
    model: str
    tokens: int
    cached_tokens: int
    text: str
    consumed: list[str]
    facts: list[str]
    calls: list[CallShape]
    created_at: Moment


class TurnHead(TypedDict):
    """`message_id` is set for a turn of Main, `task_id` for a turn of a task."""

    id: str
    task_id: str | None
    message_id: str | None
    status: str
    reason: str
    epoch: int
    created_at: Moment
    started_at: Moment | None
    ended_at: Moment | None


class TurnShape(TurnHead):
    steps: list[StepShape]


def turn_by_id(scope: Scope, turn_id: str) -> TurnShape:
    """Return a turn's full shape. Raise NotFoundError."""
    return turns_in_full(scope, [rows.get_turn(scope, turn_id)])[0]


def turn_head(turn: Turn) -> TurnHead:
    return {
        "id": turn.id,
        "task_id": turn.task_id,
        "message_id": turn.message_id,
        "status": turn.status,
        "reason": turn.reason,
        "epoch": turn.epoch,
        "created_at": moment(turn.created_at),
        "started_at": moment(turn.started_at),
        "ended_at": moment(turn.ended_at),
    }


def turns_in_full(scope: Scope, turns: Sequence[Turn]) -> list[TurnShape]:
    ids = [turn.id for turn in turns]
    steps, calls = ledger_queries.list_steps(scope, ids), ledger_queries.list_calls(scope, ids)
    return [
        {
            **turn_head(turn),
            "steps": [
                _step(
                    step,
                    [call for call in calls if (call.turn_id, call.step) == (turn.id, step.n)],
                    _consumed(scope, turn, step.n),
                )
                for step in steps
                if step.turn_id == turn.id
            ],
        }
        for turn in turns
    ]


def _consumed(scope: Scope, turn: Turn, n: int) -> list[str]:
    if turn.message_id is not None:
        return [turn.message_id] if n == 1 else []
    return [
        item.ref_id
        for item in inbox.list_read_by_turn(scope, turn.id)
        if item.kind == InputKind.MESSAGE and item.step == n
    ]


def _step(step: Step, calls: list[Call], consumed: list[str]) -> StepShape:
    return {
        "n": step.n,
        "epoch": step.epoch,
        "model": step.model,
        "tokens": step.tokens,
        "cached_tokens": step.cached_tokens,
        "text": step.text,
        "consumed": consumed,
        "facts": list(step.facts),
        "calls": [_call(call) for call in calls],
        "created_at": moment(step.created_at),
    }


def _call(call: Call) -> CallShape:
    return {
        "id": call.id,
        "tool": call.tool,
        "effect": call.effect,
        "status": call.status,
        "started_at": moment(call.started_at),
        "finished_at": moment(call.finished_at),
        "result_ref": call.result_ref,
    }

"""A turn with its steps and their calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.web.presenters.values import moment
from core.database import Scope
from runtime import inbox
from runtime.turns import ledger, rows
from runtime.turns.ledger import Call, Step
from runtime.turns.rows import Turn


def turn_by_id(scope: Scope, turn_id: str) -> dict[str, Any]:
    """Raises NotFoundError."""
    return turns_in_full(scope, [rows.get(scope, turn_id)])[0]


def turn_head(turn: Turn) -> dict[str, Any]:
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


def turns_in_full(scope: Scope, turns: Sequence[Turn]) -> list[dict[str, Any]]:
    ids = [turn.id for turn in turns]
    steps, calls = ledger.steps_of(scope, ids), ledger.calls_of(scope, ids)
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
    return [item.ref_id for item in inbox.read_by(scope, turn.id) if item.kind == "message" and item.step == n]


def _step(step: Step, calls: list[Call], consumed: list[str]) -> dict[str, Any]:
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


def _call(call: Call) -> dict[str, Any]:
    return {
        "id": call.id,
        "tool": call.tool,
        "effect": call.effect,
        "status": call.status,
        "started_at": moment(call.started_at),
        "finished_at": moment(call.finished_at),
        "result_ref": call.result_ref,
    }

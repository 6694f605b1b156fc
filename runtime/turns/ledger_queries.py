"""Queries over the ledger: steps and calls of a turn or a task, and what a turn has added since a given step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import sqlalchemy as sa

from core.database import Scope
from core.errors import NotFoundError
from core.sql import statements
from runtime.statuses import CallStatus, InputState
from runtime.tables import calls, inbox, steps, turns
from runtime.turns.ledger import Call, Step
from runtime.turns.proceed import EarlierCall, FailedCall

_TURN: sa.BindParameter[str] = sa.bindparam("turn")
_STEP: sa.BindParameter[int] = sa.bindparam("of_step")
_TURNS: sa.BindParameter[Any] = sa.bindparam("of_turns", expanding=True)
_ONE_STEP = statements.select(steps).where(steps.c.turn_id == _TURN, steps.c.n == _STEP)
_STEPS_OF = statements.select(steps).where(steps.c.turn_id.in_(_TURNS)).order_by(steps.c.turn_id, steps.c.n)
_COUNT = (
    statements.select(sa.func.count(steps.c.n).label("n"), turns.c.task_id)
    .where(turns.c.id == steps.c.turn_id, turns.c.task_id == sa.bindparam("task"))
    .group_by(turns.c.task_id)
)
_NEWEST = (
    statements.select(*steps.c)
    .where(
        turns.c.id == steps.c.turn_id,
        turns.c.workspace_id == steps.c.workspace_id,
        turns.c.task_id == sa.bindparam("task"),
    )
    .order_by(turns.c.created_at.desc(), turns.c.id.desc(), steps.c.n.desc())
    .limit(sa.bindparam("most"))
)
_CALL = statements.select(calls).where(calls.c.id == sa.bindparam("call"))
_CALLS_OF = (
    statements.select(calls).where(calls.c.turn_id.in_(_TURNS)).order_by(calls.c.turn_id, calls.c.step, calls.c.seq)
)
_CALLS_OF_STEP = statements.select(calls).where(calls.c.turn_id == _TURN, calls.c.step == _STEP).order_by(calls.c.seq)
_STEP_COLUMNS = [column for column in steps.c if column is not steps.c.workspace_id]
_CALL_COLUMNS = [column for column in calls.c if column is not calls.c.workspace_id]
_GROWTH = (
    statements.select(
        sa.exists()
        .where(
            inbox.c.workspace_id == steps.c.workspace_id,
            inbox.c.turn_id == steps.c.turn_id,
            inbox.c.step == steps.c.n,
            inbox.c.state == InputState.CONSUMED,
        )
        .label("has_read"),
        *(column.label(f"step_{column.name}") for column in _STEP_COLUMNS),
        *(column.label(f"call_{column.name}") for column in _CALL_COLUMNS),
    )
    .select_from(
        steps.outerjoin(
            calls,
            sa.and_(
                calls.c.workspace_id == steps.c.workspace_id,
                calls.c.turn_id == steps.c.turn_id,
                calls.c.step == steps.c.n,
            ),
        )
    )
    .where(steps.c.turn_id == _TURN, steps.c.n > _STEP)
    .order_by(steps.c.n, calls.c.seq)
)
_SAME_CALLS = (
    statements.select(calls.c.step, calls.c.result)
    .where(calls.c.turn_id == _TURN, calls.c.wish == sa.bindparam("wished"), calls.c.step < _STEP, calls.c.ok)
    .order_by(calls.c.step, calls.c.seq)
)
_FAILED = (
    statements.select(calls.c.step, calls.c.tool, calls.c.wish, calls.c.result)
    .where(calls.c.turn_id == _TURN, calls.c.status == CallStatus.FAILED, ~calls.c.ok)
    .order_by(calls.c.step, calls.c.seq)
)


@dataclass(frozen=True)
class TurnGrowth:
    """Steps and calls that a turn has added, in order; `has_read` is true where one of the steps read an input."""

    steps: tuple[Step, ...]
    calls: tuple[Call, ...]
    has_read: bool


def _step_from_row(row: sa.Row[Any]) -> Step:
    found = dict(row._mapping)
    found.pop("workspace_id")
    return _step_from(found)


def _step_from(found: dict[str, Any]) -> Step:
    return Step(**{**found, "facts": tuple(found["facts"])})


_CALL_FIELDS = tuple(field.name for field in fields(Call))


def call_from_row(row: sa.Row[Any]) -> Call:
    """Make a call from a row that has all columns of the calls table; other columns are ignored."""
    found = row._mapping
    return _call_from({name: found[name] for name in _CALL_FIELDS})


def _call_from(found: dict[str, Any]) -> Call:
    return Call(**{**found, "status": CallStatus(found["status"])})


def find_step(scope: Scope, turn_id: str, n: int) -> Step | None:
    row = scope.first(_ONE_STEP, turn=turn_id, of_step=n)
    return None if row is None else _step_from_row(row)


def list_steps(scope: Scope, turn_ids: Sequence[str]) -> list[Step]:
    """List the steps of these turns, grouped by turn and in order within each."""
    return [_step_from_row(row) for row in scope.rows(_STEPS_OF, of_turns=list(turn_ids))]


def count_steps_of_task(scope: Scope, task_id: str) -> int:
    return int(scope.scalar(_COUNT, task=task_id) or 0)


def list_newest_steps_of_task(scope: Scope, task_id: str, limit: int) -> list[Step]:
    """List the last steps of a task across all its turns, oldest first."""
    return [_step_from_row(row) for row in reversed(scope.rows(_NEWEST, task=task_id, most=limit))]


def list_calls(scope: Scope, turn_ids: Sequence[str]) -> list[Call]:
    return [call_from_row(row) for row in scope.rows(_CALLS_OF, of_turns=list(turn_ids))]


def list_calls_of_step(scope: Scope, turn_id: str, n: int) -> list[Call]:
    return [call_from_row(row) for row in scope.rows(_CALLS_OF_STEP, turn=turn_id, of_step=n)]


def read_growth(scope: Scope, turn_id: str, n: int) -> TurnGrowth:
    """Read the steps and calls of a turn after step `n`, in one query."""
    new_steps: list[Step] = []
    new_calls: list[Call] = []
    has_read = False
    for row in scope.rows(_GROWTH, turn=turn_id, of_step=n):
        found = row._mapping
        if not new_steps or new_steps[-1].n != found["step_n"]:
            new_steps.append(_step_from({column.name: found[f"step_{column.name}"] for column in _STEP_COLUMNS}))
            has_read = has_read or found["has_read"]
        if found["call_id"] is not None:
            new_calls.append(_call_from({column.name: found[f"call_{column.name}"] for column in _CALL_COLUMNS}))
    return TurnGrowth(tuple(new_steps), tuple(new_calls), has_read)


def get_call(scope: Scope, call_id: str) -> Call:
    row = scope.first(_CALL, call=call_id)
    if row is None:
        raise NotFoundError(f"no call {call_id} in this workspace")
    return call_from_row(row)


def list_same_calls(scope: Scope, call: Call) -> list[EarlierCall]:
    """List the successful calls of the same turn with the same tool and arguments, from earlier steps."""
    rows = scope.rows(_SAME_CALLS, turn=call.turn_id, wished=call.wish, of_step=call.step)
    return [EarlierCall(row.step, row.result) for row in rows]


def list_failed_calls(scope: Scope, turn_id: str) -> list[FailedCall]:
    """List the failed calls of a turn, in their order."""
    return [FailedCall(row.step, row.tool, row.wish, row.result) for row in scope.rows(_FAILED, turn=turn_id)]

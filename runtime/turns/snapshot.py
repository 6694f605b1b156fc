"""Snapshots that a step reads when it begins, each in one statement: one before a decision, one before a call."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from core.database import Scope
from core.errors import NotFoundError
from core.sql import statements
from runtime.statuses import UNREAD_INPUT_STATES, CallStatus, CardKind, CardState
from runtime.tables import calls, cards, inbox, steps
from runtime.tables import tasks as tasks_table
from runtime.tasks.tasks import Task, task_from_row
from runtime.turns import ledger_queries
from runtime.turns.ledger import Call

_TURN: sa.BindParameter[str] = sa.bindparam("turn", type_=steps.c.turn_id.type)
_WORKSPACE = tasks_table.c.workspace_id
_earlier = calls.alias("earlier")
_DECISION_SNAPSHOT = statements.select(
    *tasks_table.c,
    sa.exists()
    .where(steps.c.workspace_id == _WORKSPACE, steps.c.turn_id == _TURN, steps.c.n == sa.bindparam("of_step"))
    .label("decided"),
    sa.exists()
    .where(
        calls.c.workspace_id == _WORKSPACE, calls.c.turn_id == _TURN, calls.c.status == CallStatus.FAILED, ~calls.c.ok
    )
    .label("failed"),
    sa.exists()
    .where(
        cards.c.workspace_id == _WORKSPACE,
        cards.c.task_id == tasks_table.c.id,
        cards.c.state == CardState.OPEN,
        cards.c.kind == CardKind.BLOCKED,
    )
    .label("blocked"),
    sa.exists()
    .where(
        inbox.c.workspace_id == _WORKSPACE,
        inbox.c.task_id == tasks_table.c.id,
        statements.one_of(inbox.c.state, *UNREAD_INPUT_STATES),
    )
    .label("unread"),
).where(tasks_table.c.id == sa.bindparam("task"))
_CALL_SNAPSHOT = statements.select(
    *calls.c,
    tasks_table.c.person_id,
    tasks_table.c.asked_by,
    tasks_table.c.language,
    sa.select(sa.func.count(sa.distinct(_earlier.c.step)))
    .where(
        _earlier.c.workspace_id == calls.c.workspace_id,
        _earlier.c.turn_id == calls.c.turn_id,
        _earlier.c.wish == calls.c.wish,
        _earlier.c.step < calls.c.step,
        _earlier.c.ok,
    )
    .scalar_subquery()
    .label("earlier_successes"),
).where(calls.c.id == sa.bindparam("call"), tasks_table.c.id == sa.bindparam("task"))


@dataclass(frozen=True)
class DecisionSnapshot:
    """State before a decision.

    `decided`: the decision is already stored. `failed`: a call of this turn has failed. `blocked`: an open card says
    that the task is blocked. `unread`: the task has unread input.
    """

    task: Task
    decided: bool
    failed: bool
    blocked: bool
    unread: bool


@dataclass(frozen=True)
class CallSnapshot:
    """State before a call, and the person it is made for.

    `earlier_successes` counts the earlier steps of the turn in which the same call succeeded.
    """

    call: Call
    earlier_successes: int
    person_id: str
    asked_by: str
    language: str


def read_before_decision(scope: Scope, task_id: str, turn_id: str, n: int) -> DecisionSnapshot:
    """Read the state before step `n` decides. Raises NotFoundError for a task that is not in this workspace."""
    row = scope.first(_DECISION_SNAPSHOT, task=task_id, turn=turn_id, of_step=n)
    if row is None:
        raise NotFoundError(f"no task {task_id} in this workspace")
    return DecisionSnapshot(task_from_row(row), row.decided, row.failed, row.blocked, row.unread)


def read_before_call(scope: Scope, task_id: str, call_id: str) -> CallSnapshot:
    """Read the state before a call starts. Raises NotFoundError for a call or task that is not in this workspace."""
    row = scope.first(_CALL_SNAPSHOT, task=task_id, call=call_id)
    if row is None:
        raise NotFoundError(f"no call {call_id} of task {task_id} in this workspace")
    return CallSnapshot(
        ledger_queries.call_from_row(row), row.earlier_successes, row.person_id, row.asked_by, row.language
    )

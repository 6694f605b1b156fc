"""Tasks: one goal each. A light task makes one thing in one generation; a persistent one plans and goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from decimal import Decimal
from typing import Any

import sqlalchemy as sa

from core.database import Scope
from core.errors import NotFoundError
from core.sql import statements
from runtime.statuses import OPEN_TURN_STATUSES, TaskStatus
from runtime.tables import tasks, turns

LONGEST_GOAL = 4_000
"""Characters of a message that become its task's goal; the task reads the whole message from its inbox."""
_GET = statements.select(tasks).where(tasks.c.id == sa.bindparam("task"))
# A key-share lock still lets other transactions insert rows that refer to the task.
_LOCK = _GET.with_for_update(key_share=True)


@dataclass(frozen=True)
class Plan:
    """Spending that a person has approved for a whole task: `amount` in all, within the other limits.

    Empty `kinds` allows any kind of work, `count` None any number of orders; `expires_at` None never expires.
    """

    amount: Decimal
    kinds: tuple[str, ...] = ()
    count: int | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True)
class Task:
    """A task. `reason` says why it is paused, blocked or stopped; `idle_rounds` counts turns in a row without progress.

    `setbacks` counts failures and a person's refusals in a row. `approved_plan` is the number of the newest checklist
    plan that a person approved; `plan` is the spending they approved.
    """

    id: str
    person_id: str
    kind: str
    parent_id: str | None
    goal: str
    brief: str
    status: TaskStatus
    reason: str
    autonomy: str
    plan: Plan | None
    language: str
    asked_by: str
    idle_rounds: int
    setbacks: int
    approved_plan: int
    cause: str
    created_at: datetime
    updated_at: datetime


_FIELDS = tuple(field.name for field in fields(Task) if field.name not in ("status", "plan"))


def task_from_row(row: sa.Row[Any]) -> Task:
    """Make a task from a row that has all columns of the tasks table; other columns are ignored."""
    found = row._mapping
    plan = None
    if found["plan_budget"] is not None:
        kinds, count, expires_at = found["plan_kinds"], found["plan_count"], found["plan_expires_at"]
        plan = Plan(found["plan_budget"], tuple(kinds), count, expires_at)
    return Task(**{name: found[name] for name in _FIELDS}, status=TaskStatus(found["status"]), plan=plan)


def create_task(
    scope: Scope,
    *,
    kind: str,
    goal: str,
    language: str,
    person_id: str,
    asked_by: str,
    cause: str,
    parent_id: str | None = None,
) -> Task:
    """Create a task, once per `cause`; for a known cause, return the task that it created before."""
    task_id = scope.ids.new("task")
    added = scope.insert_new(
        tasks,
        id=task_id,
        person_id=person_id,
        kind=kind,
        parent_id=parent_id,
        goal=goal,
        brief="",
        status=TaskStatus.ACTIVE,
        reason="",
        autonomy="checkpoint",
        plan_kinds=[],
        language=language,
        asked_by=asked_by,
        idle_rounds=0,
        setbacks=0,
        approved_plan=0,
        cause=cause,
        created_at=scope.now,
        updated_at=scope.now,
    )
    if not added:
        row = scope.first(scope.select(tasks).where(tasks.c.cause == cause))
        assert row is not None
        return task_from_row(row)
    scope.changed("task", task_id)
    return get_task(scope, task_id)


def get_task(scope: Scope, task_id: str) -> Task:
    row = scope.first(_GET, task=task_id)
    if row is None:
        raise NotFoundError(f"no task {task_id} in this workspace")
    return task_from_row(row)


def lock_task(scope: Scope, task_id: str) -> Task:
    """Return the task with its row locked until the transaction ends; take this before deciding about its turns."""
    row = scope.first(_LOCK, task=task_id)
    if row is None:
        raise NotFoundError(f"no task {task_id} in this workspace")
    return task_from_row(row)


def lock_task_with_turn(scope: Scope, task_id: str) -> Task:
    """Lock the row of the task's open turn, where there is one, then the task's as `lock_task` does; return the task.

    Begin with this where a transaction may end a turn, or wakes a task after changing other rows of it: locks are
    taken on the turn first, then the task, then cards and inbox.
    """
    open_turn = scope.select(turns.c.id).where(turns.c.task_id == task_id, turns.c.status.in_(OPEN_TURN_STATUSES))
    scope.rows(open_turn.with_for_update(key_share=True))
    return lock_task(scope, task_id)


def list_tasks(
    scope: Scope, statuses: Sequence[str] = (), limit: int = 50, before: tuple[datetime, str] | None = None
) -> list[Task]:
    """List tasks, the newest activity first; `before` is where the previous page ended, as time and id."""
    query = scope.select(tasks)
    if statuses:
        query = query.where(tasks.c.status.in_(statuses))
    if before is not None:
        at, last_id = before
        query = query.where(sa.or_(tasks.c.updated_at < at, sa.and_(tasks.c.updated_at == at, tasks.c.id < last_id)))
    return [
        task_from_row(row)
        for row in scope.rows(query.order_by(tasks.c.updated_at.desc(), tasks.c.id.desc()).limit(limit))
    ]


def set_task_fields(scope: Scope, task_id: str, **values: Any) -> Task:
    """Change fields of a task and set its `updated_at`."""
    if not scope.change(scope.update(tasks).where(tasks.c.id == task_id).values(updated_at=scope.now, **values)):
        raise NotFoundError(f"no task {task_id} in this workspace")
    scope.changed("task", task_id)
    return get_task(scope, task_id)

"""Turns as rows. A turn is one stretch of work on a task, or Main's answer to one message."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from core.database import Scope
from core.errors import NotFoundError
from core.sql import statements
from runtime.statuses import OPEN_TURN_STATUSES, TurnStatus
from runtime.tables import turns

_GET = statements.select(turns).where(turns.c.id == sa.bindparam("turn"))


@dataclass(frozen=True)
class Turn:
    """A turn and its lease.

    `run_id` names the engine's run that works on it; `epoch` rises whenever another run or execution takes over.
    `ring` counts how often the watch has rung for it again.
    """

    id: str
    task_id: str | None
    message_id: str | None
    cause: str
    status: TurnStatus
    reason: str
    epoch: int
    ring: int
    run_id: str | None
    lease_token: str | None
    lease_until: datetime | None
    touched_at: datetime
    rung_at: datetime
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None


def turn_from_row(row: sa.Row[Any]) -> Turn:
    fields = dict(row._mapping)
    fields.pop("workspace_id")
    fields["status"] = TurnStatus(fields["status"])
    return Turn(**fields)


def get_turn(scope: Scope, turn_id: str) -> Turn:
    row = scope.first(_GET, turn=turn_id)
    if row is None:
        raise NotFoundError(f"no turn {turn_id} in this workspace")
    return turn_from_row(row)


def list_turns_of_task(scope: Scope, task_id: str, limit: int = 200) -> list[Turn]:
    """List the newest turns of a task, oldest first."""
    query = scope.select(turns).where(turns.c.task_id == task_id)
    rows = scope.rows(query.order_by(turns.c.created_at.desc(), turns.c.id.desc()).limit(limit))
    return [turn_from_row(row) for row in reversed(rows)]


def find_turn_of_message(scope: Scope, message_id: str) -> Turn | None:
    row = scope.first(scope.select(turns).where(turns.c.message_id == message_id))
    return None if row is None else turn_from_row(row)


def find_open_turn(scope: Scope, task_id: str) -> Turn | None:
    row = scope.first(scope.select(turns).where(turns.c.task_id == task_id, turns.c.status.in_(OPEN_TURN_STATUSES)))
    return None if row is None else turn_from_row(row)

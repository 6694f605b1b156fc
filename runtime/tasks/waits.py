"""Waits of a task between two turns: at most one is open, and it names the orders or cards it is for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from core.database import Scope
from core.sql import statements
from runtime.statuses import CardState, WaitKind
from runtime.tables import cards, waits

_WHO = {WaitKind.GENERATION: "the generation service", WaitKind.CARD: "you"}
_THEN = {
    WaitKind.GENERATION: "the next turn reads the outcomes; at the deadline a job without an end counts as unresolved",
    WaitKind.CARD: (
        "the answer starts the next turn; at the deadline the question expires, and the next turn reads that"
    ),
}
_CURRENT = statements.select(waits).where(waits.c.task_id == sa.bindparam("task"), waits.c.ended_at.is_(None))


@dataclass(frozen=True)
class TaskWait:
    """A wait. `refs` are ids of orders or cards, by `kind`; `who` can end it and `then` says what follows.

    `deadline` is when the first of the cards expires. A wait for orders has none: each order has its own.
    """

    id: str
    task_id: str
    turn_id: str
    kind: WaitKind
    refs: tuple[str, ...]
    who: str
    then: str
    deadline: datetime | None
    created_at: datetime
    ended_at: datetime | None


def _wait_from_row(row: sa.Row[Any]) -> TaskWait:
    fields = dict(row._mapping)
    fields.pop("workspace_id")
    fields["kind"] = WaitKind(fields["kind"])
    fields["refs"] = tuple(fields["refs"])
    return TaskWait(**fields)


def find_wait(scope: Scope, task_id: str) -> TaskWait | None:
    row = scope.first(_CURRENT, task=task_id)
    return None if row is None else _wait_from_row(row)


def read_open_wait(scope: Scope, task_id: str) -> TaskWait | None:
    """Read what the task still waits for, to be told: of several cards the open ones, and nothing once none is open.

    The wait itself ends with the next turn, which reads the answers.
    """
    wait = find_wait(scope, task_id)
    if wait is None or wait.kind != WaitKind.CARD:
        return wait
    still = scope.select(cards.c.id).where(cards.c.id.in_(wait.refs), cards.c.state == CardState.OPEN)
    open_cards = {row.id for row in scope.rows(still)}
    refs = tuple(ref for ref in wait.refs if ref in open_cards)
    return replace(wait, refs=refs, deadline=_first_to_expire(scope, refs)) if refs else None


def begin_wait(scope: Scope, task_id: str, turn_id: str, kind: WaitKind, refs: Sequence[str]) -> None:
    """Begin to wait for these orders or cards, in place of what the task waited for before."""
    end_wait(scope, task_id)
    scope.insert(
        waits,
        id=scope.ids.new("wait"),
        task_id=task_id,
        turn_id=turn_id,
        kind=kind,
        refs=list(refs),
        who=_WHO[kind],
        then=_THEN[kind],
        deadline=_first_to_expire(scope, refs) if kind == WaitKind.CARD else None,
        created_at=scope.now,
    )
    scope.changed("task", task_id)


def _first_to_expire(scope: Scope, card_ids: Sequence[str]) -> datetime | None:
    expiring = scope.select(cards.c.expires_at).where(cards.c.id.in_(list(card_ids)), cards.c.expires_at.is_not(None))
    found: datetime | None = scope.scalar(expiring.order_by(cards.c.expires_at).limit(1))
    return found


def end_wait(scope: Scope, task_id: str) -> None:
    scope.change(
        scope.update(waits).where(waits.c.task_id == task_id, waits.c.ended_at.is_(None)).values(ended_at=scope.now)
    )

"""A task: its head for lists, and everything a person can see of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from app.web.presenters.card import card_shape
from app.web.presenters.generation import generations_of_task
from app.web.presenters.object import object_shape
from app.web.presenters.turn import turn_head
from app.web.presenters.values import given, moment, plain
from core.database import Scope
from generation.states import OPEN
from generation.tables import orders
from runtime import cards, checklist, inbox, tasks
from runtime.checklist import ChecklistStep
from runtime.tables import budgets, waits
from runtime.tasks import Plan, Task
from runtime.turns import rows
from workspace import objects


def task_by_id(scope: Scope, task_id: str) -> dict[str, Any]:
    """The whole shape; raises NotFoundError."""
    task = tasks.get(scope, task_id)
    return {
        **task_head(scope, task),
        "checklist": [step_shape(step) for step in checklist.of_task(scope, task_id)],
        "inbox": [
            {"kind": item.kind, "ref_id": item.ref_id, "state": item.state, "created_at": moment(item.created_at)}
            for item in inbox.unread(scope, task_id)
        ],
        "turns": [turn_head(turn) for turn in rows.of_task(scope, task_id)],
        "objects": [object_shape(work) for work in objects_of(scope, task_id)],
        "open_cards": [card_shape(card) for card in cards.open_cards(scope, task_id)],
        "generations": generations_of_task(scope, task_id),
    }


def task_head(scope: Scope, task: Task) -> dict[str, Any]:
    always = {
        "id": task.id,
        "kind": task.kind,
        "goal": task.goal,
        "brief": task.brief,
        "status": task.status,
        "reason": task.reason,
        "waiting_on": _waiting_on(scope, task.id),
        "autonomy": task.autonomy,
        "budget": None if task.plan is None else _plan_shape(scope, task.plan),
        "language": task.language,
        "asked_by": task.asked_by,
        "created_at": moment(task.created_at),
        "updated_at": moment(task.updated_at),
    }
    return {**always, **given({"parent_id": task.parent_id})}


def step_shape(step: ChecklistStep) -> dict[str, Any]:
    return {
        "n": step.n,
        "title": step.title,
        "acceptance": step.acceptance,
        "status": step.status,
        "stale": step.stale,
        "depends_on": list(step.depends_on),
        "evidence": [dict(one) for one in step.evidence],
        "checkpoint": step.checkpoint,
        "mandatory": step.mandatory,
    }


def objects_of(scope: Scope, task_id: str) -> list[objects.Object]:
    """The works a task has to do with, oldest first."""
    return list(reversed(objects.listing(scope, task_id=task_id, limit=200).items))


def _waiting_on(scope: Scope, task_id: str) -> dict[str, Any] | None:
    row = scope.first(scope.select(waits).where(waits.c.task_id == task_id, waits.c.ended_at.is_(None)))
    if row is None:
        return None
    return {
        "type": row.kind,
        "since": moment(row.created_at),
        "deadline": moment(_last_deadline(scope, row.refs) if row.kind == "generation" else row.deadline),
        "who": row.who,
        "then": row.then,
        "refs": list(row.refs),
    }


def _last_deadline(scope: Scope, order_ids: Sequence[str]) -> datetime | None:
    """When the last of these orders has an end, whatever its provider does."""
    waited_for = scope.select(orders.c.deadline).where(orders.c.id.in_(list(order_ids)), orders.c.state.in_(OPEN))
    found: datetime | None = scope.scalar(waited_for.order_by(orders.c.deadline.desc()).limit(1))
    return found


def _plan_shape(scope: Scope, plan: Plan) -> dict[str, Any]:
    limits = {"kinds": list(plan.kinds) or None, "count": plan.count, "expires_at": moment(plan.expires_at)}
    return {"amount": plain(plan.amount), "currency": _currency(scope), **given(limits)}


def _currency(scope: Scope) -> str:
    return str(scope.scalar(scope.select(budgets.c.currency)) or "USD")

"""The shapes of a task: a head for lists, and the full one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import cast

from typing_extensions import TypedDict

from app.web.presenters.card import CardShape, card_shape
from app.web.presenters.generation import GenerationShape, generations_of_task
from app.web.presenters.object import ObjectShape, object_shape
from app.web.presenters.turn import TurnHead, turn_head
from app.web.presenters.values import Amount, Moment, moment, plain_amount, without_nulls
from core.database import Scope
from generation.orders.states import OPEN_ORDER_STATES
from generation.tables import orders
from runtime.cards import cards
from runtime.inbox import inbox
from runtime.statuses import WaitKind
from runtime.tables import budgets
from runtime.tasks import checklist, tasks, waits
from runtime.tasks.checklist import ChecklistStep
from runtime.tasks.tasks import Plan, Task
from runtime.turns import rows
from workspace import objects


class Waiting(TypedDict):
    """What a task waits for: `refs` are ids of its `type`, `who` can end it, and `then` says what follows."""

    type: str
    since: Moment
    deadline: Moment | None
    who: str
    then: str
    refs: list[str]


class PlanLimits(TypedDict, total=False):
    kinds: list[str] | None
    count: int | None
    expires_at: Moment | None


class PlanShape(PlanLimits):
    amount: Amount
    currency: str


class StepEvidenceShape(TypedDict):
    kind: str
    id: str


class ChecklistStepShape(TypedDict):
    n: int
    title: str
    acceptance: str
    status: str
    stale: bool
    depends_on: list[int]
    evidence: list[StepEvidenceShape]
    checkpoint: bool
    mandatory: bool


class InboxItemShape(TypedDict):
    """An input that no step has read yet; `ref_id` is an id of its `kind`."""

    kind: str
    ref_id: str
    state: str
    created_at: Moment


class Parent(TypedDict, total=False):
    parent_id: str | None


class TaskHead(Parent):
    id: str
    kind: str
    goal: str
    brief: str
    status: str
    reason: str
    waiting_on: Waiting | None
    autonomy: str
    budget: PlanShape | None
    language: str
    asked_by: str
    created_at: Moment
    updated_at: Moment


class TaskShape(TaskHead):
    checklist: list[ChecklistStepShape]
    inbox: list[InboxItemShape]
    turns: list[TurnHead]
    objects: list[ObjectShape]
    open_cards: list[CardShape]
    generations: list[GenerationShape]


def task_by_id(scope: Scope, task_id: str) -> TaskShape:
    """Return a task's full shape. Raise NotFoundError."""
    task = tasks.get_task(scope, task_id)
    return {
        **task_head(scope, task),
        "checklist": [checklist_step_shape(step) for step in checklist.list_checklist(scope, task_id)],
        "inbox": [
            {"kind": item.kind, "ref_id": item.ref_id, "state": item.state, "created_at": moment(item.created_at)}
            for item in inbox.list_unread(scope, task_id)
        ],
        "turns": [turn_head(turn) for turn in rows.list_turns_of_task(scope, task_id)],
        "objects": [object_shape(work) for work in objects_of_task(scope, task_id)],
        "open_cards": [card_shape(card) for card in cards.list_open_cards(scope, task_id)],
        "generations": generations_of_task(scope, task_id),
    }


def task_head(scope: Scope, task: Task) -> TaskHead:
    return {
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
        **without_nulls(Parent(parent_id=task.parent_id)),
    }


def checklist_step_shape(step: ChecklistStep) -> ChecklistStepShape:
    return {
        "n": step.n,
        "title": step.title,
        "acceptance": step.acceptance,
        "status": step.status,
        "stale": step.stale,
        "depends_on": list(step.depends_on),
        "evidence": [cast(StepEvidenceShape, dict(one)) for one in step.evidence],
        "checkpoint": step.checkpoint,
        "mandatory": step.mandatory,
    }


def objects_of_task(scope: Scope, task_id: str) -> list[objects.Object]:
    """Return the works a task made or uses, oldest first."""
    return list(reversed(objects.list_objects(scope, task_id=task_id, limit=200).items))


def _waiting_on(scope: Scope, task_id: str) -> Waiting | None:
    wait = waits.read_open_wait(scope, task_id)
    if wait is None:
        return None
    return {
        "type": wait.kind,
        "since": moment(wait.created_at),
        "deadline": moment(_last_deadline(scope, wait.refs) if wait.kind == WaitKind.GENERATION else wait.deadline),
        "who": wait.who,
        "then": wait.then,
        "refs": list(wait.refs),
    }


def _last_deadline(scope: Scope, order_ids: Sequence[str]) -> datetime | None:
    """Return the latest deadline of these orders, after which they end whatever the provider does."""
    waited_for = scope.select(orders.c.deadline).where(
        orders.c.id.in_(list(order_ids)), orders.c.state.in_(OPEN_ORDER_STATES)
    )
    found: datetime | None = scope.scalar(waited_for.order_by(orders.c.deadline.desc()).limit(1))
    return found


def _plan_shape(scope: Scope, plan: Plan) -> PlanShape:
    limits: PlanLimits = {"kinds": list(plan.kinds) or None, "count": plan.count, "expires_at": moment(plan.expires_at)}
    return {"amount": plain_amount(plan.amount), "currency": _currency(scope), **without_nulls(limits)}


def _currency(scope: Scope) -> str:
    return str(scope.scalar(scope.select(budgets.c.currency)) or "USD")

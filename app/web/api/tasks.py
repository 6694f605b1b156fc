"""Tasks and turns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC
from decimal import Decimal
from typing import Annotated, Literal

from flask import request
from pydantic import AwareDatetime, Field

from app.web.http import paging
from app.web.http.authorization import require_person
from app.web.http.dependencies import WebDependencies
from app.web.http.endpoints import Endpoints
from app.web.http.inputs import AmountInput, Body
from app.web.presenters.task import TaskHead, TaskShape, task_by_id, task_head
from app.web.presenters.turn import TurnShape, turn_by_id
from core.database import Scope
from core.errors import InvalidError
from core.identity import Speaker
from runtime.commands import control
from runtime.limits import credits
from runtime.statuses import TaskStatus
from runtime.tasks import tasks
from runtime.tasks.tasks import Plan, Task

COMMANDS: dict[str, tuple[str, Callable[[Scope, str], Task]]] = {
    "pause": ("Pause a task until it is resumed", control.pause_task),
    "resume": ("Let a paused or blocked task go on", control.resume_task),
    "archive": ("Put a task away; its works stay", control.archive_task),
    "promote": ("Make a light task a persistent one", control.promote_task),
}


class PlanBudget(Body):
    """What a task may spend without asking: `amount` in the workspace's currency, within the other limits."""

    amount: AmountInput
    currency: str | None = None
    kinds: list[Literal["image", "video", "audio", "model3d"]] = Field(default_factory=list)
    count: Annotated[int, Field(ge=0, le=10_000)] | None = None
    expires_at: AwareDatetime | None = None


class StopTask(Body):
    """`turn_id` is the turn to stop: if its work is already over, nothing is stopped."""

    turn_id: str | None = None


class PatchTask(Body):
    """Fields left out do not change. A budget of null removes the limit; a bare amount keeps its other limits."""

    autonomy: Literal["step", "checkpoint", "plan"] | None = None
    budget: PlanBudget | AmountInput | None = None


def tasks_api(dependencies: WebDependencies) -> Endpoints:
    endpoints = Endpoints(dependencies, "tasks_api")

    @endpoints.reads(
        "/api/v1/tasks",
        "Tasks, the last active first; `status=` takes a comma list",
        query={"status": "only tasks with one of these statuses, separated by commas", **paging.PAGING_QUERY},
    )
    def list_tasks(scope: Scope, speaker: Speaker) -> paging.ListPage[TaskHead]:
        size = paging.page_size()
        found = tasks.list_tasks(scope, _requested_statuses(), size + 1, paging.requested_place())
        return paging.cut_page(
            found, size, lambda task: task_head(scope, task), lambda task: (task.updated_at, task.id)
        )

    @endpoints.reads("/api/v1/tasks/<task_id>", "A task with its checklist, works, open cards and turns")
    def get_task(scope: Scope, speaker: Speaker, task_id: str) -> TaskShape:
        return task_by_id(scope, task_id)

    @endpoints.acts("/api/v1/tasks/<task_id>", "Set autonomy or plan budget", body=PatchTask, method="PATCH")
    def patch_task(scope: Scope, speaker: Speaker, body: PatchTask, task_id: str) -> TaskShape:
        require_person(speaker, "say what a task may do or spend")
        task = tasks.get_task(scope, task_id)
        if body.autonomy is not None:
            control.set_task_autonomy(scope, task_id, body.autonomy)
        if "budget" in body.model_fields_set:
            control.set_task_plan(scope, task_id, _requested_plan(scope, task, body.budget))
        return task_by_id(scope, task_id)

    @endpoints.acts("/api/v1/tasks/<task_id>/stop", "Stop a task for good", body=StopTask)
    def stop_task(scope: Scope, speaker: Speaker, body: StopTask, task_id: str) -> TaskShape:
        control.stop_task(scope, task_id, body.turn_id)
        return task_by_id(scope, task_id)

    for name, (summary, command) in COMMANDS.items():
        _register_command(endpoints, name, summary, command)

    @endpoints.reads("/api/v1/turns/<turn_id>", "A turn with its steps and calls")
    def get_turn(scope: Scope, speaker: Speaker, turn_id: str) -> TurnShape:
        return turn_by_id(scope, turn_id)

    return endpoints


def _requested_plan(scope: Scope, task: Task, budget: PlanBudget | Decimal | None) -> Plan | None:
    if budget is None:
        return None
    if isinstance(budget, Decimal):
        return Plan(budget) if task.plan is None else replace(task.plan, amount=budget)
    ours = credits.read_budget(scope).currency
    if budget.currency not in (None, ours):
        raise InvalidError(f"the workspace's money is {ours}; nothing converts {budget.currency}")
    ends = None if budget.expires_at is None else budget.expires_at.astimezone(UTC)
    return Plan(budget.amount, tuple(budget.kinds), budget.count, ends)


def _register_command(endpoints: Endpoints, name: str, summary: str, command: Callable[[Scope, str], Task]) -> None:
    def act(scope: Scope, speaker: Speaker, body: Body, task_id: str) -> TaskShape:
        command(scope, task_id)
        return task_by_id(scope, task_id)

    act.__name__ = f"{name}_task"
    endpoints.acts(f"/api/v1/tasks/<task_id>/{name}", summary)(act)


def _requested_statuses() -> tuple[str, ...]:
    wanted = tuple(part for part in request.args.get("status", "").split(",") if part)
    unknown = [part for part in wanted if part not in set(TaskStatus)]
    if unknown:
        raise InvalidError(f"status is some of {', '.join(TaskStatus)}, not {unknown[0]!r}")
    return wanted

"""Tasks and turns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from flask import request

from app.web import paging
from app.web.amounts import Sum
from app.web.bodies import Body
from app.web.endpoints import Answer, Door
from app.web.parts import WebParts
from app.web.presenters.task import task_by_id, task_head
from app.web.presenters.turn import turn_by_id
from core.database import Scope
from core.errors import InvalidError
from core.identity import Speaker
from runtime import control, tasks
from runtime.tasks import Task

STATUSES = ("active", "waiting", "paused", "blocked", "done", "stopped", "archived")
COMMANDS: dict[str, tuple[str, Callable[[Scope, str], Task]]] = {
    "stop": ("Stop a task for good", control.stop),
    "pause": ("Pause a task until it is resumed", control.pause),
    "resume": ("Let a paused or blocked task go on", control.resume),
    "archive": ("Put a task away; its works stay", control.archive),
    "promote": ("Make a light task a persistent one", control.promote),
}


class Amount(Body):
    """A decimal string; the currency is the workspace's."""

    amount: Sum
    currency: str | None = None


class PatchTask(Body):
    """What is left out stays as it is; a budget of null takes the limit away."""

    autonomy: Literal["step", "checkpoint", "plan"] | None = None
    budget: Amount | Sum | None = None


def tasks_api(parts: WebParts) -> Door:
    door = Door(parts, "tasks_api")

    @door.reads("/api/v1/tasks", "Tasks, the last active first; `status=` takes a comma list")
    def list_tasks(scope: Scope, speaker: Speaker) -> Answer:
        size = paging.page_size()
        found = tasks.listing(scope, _statuses(), size + 1, paging.place())
        return paging.page(found, size, lambda task: task_head(scope, task), lambda task: (task.updated_at, task.id))

    @door.reads("/api/v1/tasks/<task_id>", "A task with its checklist, works, open cards and turns")
    def get_task(scope: Scope, speaker: Speaker, task_id: str) -> Answer:
        return task_by_id(scope, task_id)

    @door.acts("/api/v1/tasks/<task_id>", "Set autonomy or plan budget", body=PatchTask, method="PATCH")
    def patch_task(scope: Scope, speaker: Speaker, body: PatchTask, task_id: str) -> dict[str, Any]:
        tasks.get(scope, task_id)
        if body.autonomy is not None:
            control.set_autonomy(scope, task_id, body.autonomy)
        if "budget" in body.model_fields_set:
            amount = body.budget.amount if isinstance(body.budget, Amount) else body.budget
            control.set_plan_budget(scope, task_id, amount)
        return task_by_id(scope, task_id)

    for name, (summary, command) in COMMANDS.items():
        _register_command(door, name, summary, command)

    @door.reads("/api/v1/turns/<turn_id>", "A turn with its steps and calls")
    def get_turn(scope: Scope, speaker: Speaker, turn_id: str) -> Answer:
        return turn_by_id(scope, turn_id)

    return door


def _register_command(door: Door, name: str, summary: str, command: Callable[[Scope, str], Task]) -> None:
    def act(scope: Scope, speaker: Speaker, body: Body, task_id: str) -> dict[str, Any]:
        command(scope, task_id)
        return task_by_id(scope, task_id)

    act.__name__ = f"{name}_task"
    door.acts(f"/api/v1/tasks/<task_id>/{name}", summary)(act)


def _statuses() -> tuple[str, ...]:
    wanted = tuple(part for part in request.args.get("status", "").split(",") if part)
    unknown = [part for part in wanted if part not in STATUSES]
    if unknown:
        raise InvalidError(f"status is some of {', '.join(STATUSES)}, not {unknown[0]!r}")
    return wanted

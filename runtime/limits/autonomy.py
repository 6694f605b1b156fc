"""Autonomy of a task: how far it may go before a person looks.

A person sets the level. The runtime only ever lowers it.
"""

from __future__ import annotations

from core.database import Scope
from core.errors import InvalidError
from runtime import notices
from runtime.tasks import tasks
from runtime.tasks.tasks import Task

AUTONOMY_LEVELS = ("step", "checkpoint", "plan")
"""From the closest look to the loosest."""
MOST_SETBACKS = 3
"""How often in a row a task may fail or be told no before it is looked at more closely."""
_YES = frozenset({"approve", "continue", "grant", "confirm", "raise", "accept"})
_NO = frozenset({"refuse", "adjust", "keep"})


def set_autonomy_level(scope: Scope, task_id: str, level: str, newest_plan: int) -> Task:
    """A person's own act. Who chooses `plan` approves the plan as it stands, or the first one where there is none."""
    if level not in AUTONOMY_LEVELS:
        raise InvalidError(f"autonomy is step, checkpoint or plan, not {level!r}")
    approved = {"approved_plan": max(newest_plan, 1)} if level == "plan" else {}
    return tasks.set_task_fields(scope, task_id, autonomy=level, setbacks=0, **approved)


def weigh_answer(
    scope: Scope, task_id: str, option: str | None, cause: str, plan: int | None = None, *, by_person: bool = True
) -> None:
    """What the answer to a card says of the task; `plan` is the one whose checkpoint it lets pass.

    Only a person's yes gives confidence back or approves a plan; anybody's no counts.
    """
    if option in _NO:
        add_setback(scope, task_id, cause)
    elif option in _YES and by_person:
        approved = {} if plan is None else {"approved_plan": plan}
        tasks.set_task_fields(scope, task_id, setbacks=0, **approved)


def add_setback(scope: Scope, task_id: str, cause: str) -> None:
    """Count a failure or a no, once for each `cause`, and lower the level when they repeat."""
    task = tasks.lock_task(scope, task_id)
    if task.setbacks + 1 < MOST_SETBACKS:
        tasks.set_task_fields(scope, task_id, setbacks=task.setbacks + 1)
        return
    lower = next_lower_level(task.autonomy)
    tasks.set_task_fields(scope, task_id, autonomy=lower, setbacks=0)
    if lower != task.autonomy:
        told = (
            f"“{task.goal[:120]}” failed or was told no {MOST_SETBACKS} times in a row, so it now asks {_HOW[lower]}."
        )
        notices.store_notice(scope, "person", told, f"lowered:{cause}", task_id)


def next_lower_level(level: str) -> str:
    """One level down; the lowest stays."""
    return AUTONOMY_LEVELS[max(AUTONOMY_LEVELS.index(level) - 1, 0)]


_HOW = {"step": "after every step", "checkpoint": "at every checkpoint"}

"""Autonomy of a task: how far it may go before a person has to look.

A person sets the level. The runtime only ever lowers it.
"""

from __future__ import annotations

from core.database import Scope
from core.errors import InvalidError
from runtime import notices
from runtime.tasks import tasks
from runtime.tasks.tasks import Task

AUTONOMY_LEVELS = ("step", "checkpoint", "plan")
"""From the strictest level to the loosest."""
MOST_SETBACKS = 3
"""Failures and refusals in a row after which a task drops one level."""
_YES = frozenset({"approve", "continue", "grant", "confirm", "raise", "accept"})
_NO = frozenset({"refuse", "adjust", "keep"})
_HOW = {"step": "after every step", "checkpoint": "at every checkpoint"}


def set_autonomy_level(scope: Scope, task_id: str, level: str, newest_plan: int) -> Task:
    """Set the level a person has chosen. `plan` also approves the current plan, or the first one if none exists."""
    if level not in AUTONOMY_LEVELS:
        raise InvalidError(f"autonomy is step, checkpoint or plan, not {level!r}")
    approved = {"approved_plan": max(newest_plan, 1)} if level == "plan" else {}
    return tasks.set_task_fields(scope, task_id, autonomy=level, setbacks=0, **approved)


def weigh_answer(
    scope: Scope, task_id: str, option: str | None, cause: str, plan: int | None = None, *, by_person: bool = True
) -> None:
    """Count the answer to a card for or against its task; `plan` is the number of the plan that a checkpoint is of.

    A no from anyone is a setback. Only a person's yes clears the setbacks and approves the plan.
    """
    if option in _NO:
        add_setback(scope, task_id, cause)
    elif option in _YES and by_person:
        approved = {} if plan is None else {"approved_plan": plan}
        tasks.set_task_fields(scope, task_id, setbacks=0, **approved)


def add_setback(scope: Scope, task_id: str, cause: str) -> None:
    """Count a failure or a no, and lower the level after `MOST_SETBACKS`; `cause` makes the notice about it unique."""
    task = tasks.lock_task(scope, task_id)
    if task.setbacks + 1 < MOST_SETBACKS:
        tasks.set_task_fields(scope, task_id, setbacks=task.setbacks + 1)
        return
    lower = next_lower_level(task.autonomy)
    tasks.set_task_fields(scope, task_id, autonomy=lower, setbacks=0)
    if lower != task.autonomy:
        text = (
            f"“{task.goal[:120]}” failed or was told no {MOST_SETBACKS} times in a row, so it now asks {_HOW[lower]}."
        )
        notices.store_notice(scope, "person", text, f"lowered:{cause}", task_id)


def next_lower_level(level: str) -> str:
    """Return the next stricter level; the strictest stays."""
    return AUTONOMY_LEVELS[max(AUTONOMY_LEVELS.index(level) - 1, 0)]

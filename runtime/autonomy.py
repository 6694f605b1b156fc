"""How far a task may go before a person looks: a person sets the level, and the runtime only ever lowers it."""

from __future__ import annotations

from core.database import Scope
from core.errors import InvalidError
from runtime import notices, tasks
from runtime.tasks import Task

LEVELS = ("step", "checkpoint", "plan")
"""From the closest look to the loosest."""
MOST_SETBACKS = 3
"""How often in a row a task may fail or be told no before it is looked at more closely."""
_YES = frozenset({"approve", "continue", "grant", "confirm", "raise", "accept"})
_NO = frozenset({"refuse", "adjust", "keep"})


def set_level(scope: Scope, task_id: str, level: str, newest_plan: int) -> Task:
    """A person's own act. Who chooses `plan` approves the plan as it stands, or the first one where there is none."""
    if level not in LEVELS:
        raise InvalidError(f"autonomy is step, checkpoint or plan, not {level!r}")
    approved = {"approved_plan": max(newest_plan, 1)} if level == "plan" else {}
    return tasks.set_fields(scope, task_id, autonomy=level, setbacks=0, **approved)


def answered(
    scope: Scope, task_id: str, option: str | None, cause: str, plan: int | None = None, *, by_person: bool = True
) -> None:
    """What the answer to a card says of the task; `plan` is the one whose checkpoint it lets pass.

    Only a person's yes gives confidence back or approves a plan; anybody's no counts.
    """
    if option in _NO:
        set_back(scope, task_id, cause)
    elif option in _YES and by_person:
        approved = {} if plan is None else {"approved_plan": plan}
        tasks.set_fields(scope, task_id, setbacks=0, **approved)


def set_back(scope: Scope, task_id: str, cause: str) -> None:
    """Count a failure or a no, once for each `cause`, and lower the level when they repeat."""
    task = tasks.lock(scope, task_id)
    if task.setbacks + 1 < MOST_SETBACKS:
        tasks.set_fields(scope, task_id, setbacks=task.setbacks + 1)
        return
    lower = lowered(task.autonomy)
    tasks.set_fields(scope, task_id, autonomy=lower, setbacks=0)
    if lower != task.autonomy:
        told = (
            f"“{task.goal[:120]}” failed or was told no {MOST_SETBACKS} times in a row, so it now asks {_HOW[lower]}."
        )
        notices.tell(scope, "person", told, f"lowered:{cause}", task_id)


def lowered(level: str) -> str:
    """One level down; the lowest stays."""
    return LEVELS[max(LEVELS.index(level) - 1, 0)]


_HOW = {"step": "after every step", "checkpoint": "at every checkpoint"}

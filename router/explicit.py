"""The levels that need no judgement: a message that names its task, a card's task, or an object with a task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from router.decided import Decided


@dataclass(frozen=True)
class TaskOfObject:
    """A task that works with an object; `living` tells that it may still be given work."""

    id: str
    living: bool


@dataclass(frozen=True)
class Target:
    """What the message itself points at. `object_tasks` is None for a deleted object, oldest task first otherwise."""

    task_id: str | None = None
    card_task_id: str | None = None
    object_id: str | None = None
    object_tasks: Sequence[TaskOfObject] | None = ()


def explicit(target: Target) -> Decided | None:
    """Where the message goes by what it points at; None when that decides nothing."""
    if target.task_id is not None:
        return Decided("explicit", "existing", target.task_id, ("it was written in the task's own panel",))
    if target.card_task_id is not None:
        return Decided("explicit", "existing", target.card_task_id, ("it answers a card of the task",))
    if target.object_id is not None:
        return _by_object(target.object_id, target.object_tasks)
    return None


def _by_object(object_id: str, tasks: Sequence[TaskOfObject] | None) -> Decided | None:
    if tasks is None:
        return Decided("object", "existing", None, ("the object it is about is deleted",))
    if not tasks:
        return None
    # The task that made a work is the oldest one that knows it; an ended one cannot take the message.
    chosen = next((task for task in tasks if task.living), tasks[0])
    return Decided("object", "existing", chosen.id, ("it is about a work of the task",), object_ids=(object_id,))

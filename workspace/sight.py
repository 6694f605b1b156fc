"""Sight: which versions each task has seen of the objects it works with."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from core.database import Scope
from core.errors import ConflictError
from core.sql import statements
from workspace.found import Object, get_object, objects_by_ids
from workspace.tables import object_tasks, objects


def link_object(scope: Scope, object_id: str, task_id: str) -> None:
    """Link an object to the task. A task that was not linked counts as having seen its current version."""
    mark_seen(scope, object_id, task_id, get_object(scope, object_id).version, raise_it=False)


def mark_seen(scope: Scope, object_id: str, task_id: str, version: int, *, raise_it: bool = True) -> None:
    """Record that the task has seen this version; an older one than it has seen changes nothing.

    Without `raise_it` nothing changes for a task that is linked already.
    """
    if scope.insert_new(object_tasks, object_id=object_id, task_id=task_id, seen_version=version):
        scope.changed("object", object_id)
    elif raise_it:
        scope.change(
            scope.update(object_tasks)
            .where(
                object_tasks.c.object_id == object_id,
                object_tasks.c.task_id == task_id,
                object_tasks.c.seen_version < version,
            )
            .values(seen_version=version)
        )


def seen_version(scope: Scope, object_id: str, task_id: str) -> int:
    """Return the newest version that the task has seen; 0 when it has seen none."""
    known = scope.scalar(
        scope.select(object_tasks.c.seen_version).where(
            object_tasks.c.object_id == object_id, object_tasks.c.task_id == task_id
        )
    )
    return int(known or 0)


@dataclass(frozen=True)
class Unseen:
    """An object that has changed since the task saw it."""

    object_id: str
    title: str
    seen_version: int
    version: int


_UNSEEN = (
    statements.select(objects.c.id, objects.c.title, objects.c.version, object_tasks.c.seen_version)
    .where(
        object_tasks.c.task_id == sa.bindparam("task"),
        object_tasks.c.object_id == objects.c.id,
        object_tasks.c.seen_version > 0,
        object_tasks.c.seen_version < objects.c.version,
        objects.c.deleted_at.is_(None),
    )
    .order_by(objects.c.updated_at, objects.c.id)
)
_LINKED = statements.select(object_tasks.c.object_id).where(object_tasks.c.task_id == sa.bindparam("task"))


def list_unseen(scope: Scope, task_id: str) -> list[Unseen]:
    """Return the objects that the task has seen only in an older version, in the order they last changed."""
    rows = scope.rows(_UNSEEN, task=task_id)
    return [Unseen(row.id, row.title, row.seen_version, row.version) for row in rows]


def objects_of_task(scope: Scope, task_id: str) -> list[Object]:
    """Return the task's objects that are not deleted, in the order they were begun, since ids sort by that time."""
    linked = scope.rows(_LINKED, task=task_id)
    found = objects_by_ids(scope, [row.object_id for row in linked])
    return sorted(found.values(), key=lambda work: work.id)


def check_current(scope: Scope, object_id: str, task_id: str | None) -> Object:
    """Return the object if the task may build on its newest version: it has seen that one, or none at all.

    Raises ConflictError with `current_version` when it changed since the task saw it; NotFoundError.
    """
    work = get_object(scope, object_id)
    known = 0 if task_id is None else seen_version(scope, object_id, task_id)
    if 0 < known < work.version:
        raise ConflictError(
            f"{work.title!r} moved from version {known} to {work.version} since this task saw it; "
            f"read {object_id} and decide again",
            current_version=work.version,
        )
    return work

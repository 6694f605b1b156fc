"""Objects as read: a work with the version that was asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Row

from core.database import Scope
from core.errors import NotFoundError
from workspace.tables import object_tasks, objects, versions


@dataclass(frozen=True)
class Object:
    """A work in one of its versions: the current one, unless another was asked for.

    `current_version` is the newest; `stale` says that what it was made from has changed since; `size` is in bytes.
    """

    id: str
    kind: str
    title: str
    version: int
    current_version: int
    media_type: str
    size: int
    sha256: str
    created_by: str
    created_at: datetime
    updated_at: datetime
    stale: bool
    recipe: Mapping[str, Any] = field(default_factory=dict)
    task_ids: tuple[str, ...] = ()


def get_object(scope: Scope, object_id: str, version: int | None = None) -> Object:
    """Return the object in `version`; raises NotFoundError, also for a deleted object."""
    check_id(object_id)
    found = scope.first(objects_with_version(scope, version).where(objects.c.id == object_id))
    if found is None:
        row_of(scope, object_id)
        raise NotFoundError(f"object {object_id} has no version {version}")
    if found.deleted_at is not None:
        raise NotFoundError(f"object {object_id} ({found.title}) was deleted at {found.deleted_at.isoformat()}")
    return object_of(found, task_ids_of(scope, [object_id]).get(object_id, ()))


def object_made_by(scope: Scope, cause: str) -> Object | None:
    """Return what a write of this cause made: the object in that version, even if it was deleted since."""
    made = scope.first(scope.select(versions.c.object_id, versions.c.version).where(versions.c.cause == cause))
    if made is None:
        return None
    found = scope.first(objects_with_version(scope, made.version).where(objects.c.id == made.object_id))
    return None if found is None else object_of(found, task_ids_of(scope, [made.object_id]).get(made.object_id, ()))


def objects_by_ids(scope: Scope, object_ids: Collection[str]) -> dict[str, Object]:
    """Return the objects with these ids that exist and are not deleted."""
    wanted = [object_id for object_id in object_ids if is_id(object_id)]
    if not wanted:
        return {}
    found = scope.rows(
        objects_with_version(scope, None).where(objects.c.id.in_(wanted), objects.c.deleted_at.is_(None))
    )
    tasks = task_ids_of(scope, [row.id for row in found])
    return {row.id: object_of(row, tasks.get(row.id, ())) for row in found}


def check_id(object_id: str) -> None:
    """Raise NotFoundError for a text that cannot be an id; a database driver would fail on some of them."""
    if not is_id(object_id):
        raise NotFoundError(f"{object_id[:80]!r} is no id of an object")


def is_id(text: str) -> bool:
    return 0 < len(text) <= 64 and text.isascii() and text.isprintable()


def row_of(scope: Scope, object_id: str) -> Row[Any]:
    """Return the object's own row, deleted or not; raises NotFoundError."""
    check_id(object_id)
    row = scope.first(scope.select(objects).where(objects.c.id == object_id))
    if row is None:
        raise NotFoundError(f"no object {object_id[:80]} in this workspace")
    return row


def objects_with_version(scope: Scope, version: int | None) -> sa.Select[Any]:
    """Build a query of objects with one of their versions: the current one, or the numbered one."""
    wanted = objects.c.version if version is None else sa.literal(version)
    return scope.select(
        objects.c.id,
        objects.c.kind,
        objects.c.created_by,
        objects.c.created_at,
        objects.c.updated_at,
        objects.c.stale,
        objects.c.deleted_at,
        objects.c.version.label("current_version"),
        versions.c.version,
        versions.c.title,
        versions.c.media_type,
        versions.c.size,
        versions.c.sha256,
        versions.c.recipe,
    ).where(versions.c.object_id == objects.c.id, versions.c.version == wanted)


def task_ids_of(scope: Scope, object_ids: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the tasks that each of these objects is linked to."""
    if not object_ids:
        return {}
    rows = scope.rows(
        scope.select(object_tasks.c.object_id, object_tasks.c.task_id)
        .where(object_tasks.c.object_id.in_(object_ids))
        .order_by(object_tasks.c.task_id)
    )
    found: dict[str, tuple[str, ...]] = {}
    for row in rows:
        found[row.object_id] = (*found.get(row.object_id, ()), row.task_id)
    return found


def object_of(row: Row[Any], task_ids: tuple[str, ...]) -> Object:
    """Read an object from a row of `objects_with_version`."""
    return Object(
        id=row.id,
        kind=row.kind,
        title=row.title,
        version=row.version,
        current_version=row.current_version,
        media_type=row.media_type,
        size=row.size,
        sha256=row.sha256,
        created_by=row.created_by,
        created_at=row.created_at,
        updated_at=row.updated_at,
        stale=row.stale,
        recipe=row.recipe,
        task_ids=task_ids,
    )

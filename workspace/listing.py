"""Lists: the works of a workspace by page, and the versions of one work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Row

from core.database import Scope
from core.errors import InvalidError, NotFoundError
from workspace import titles
from workspace.found import Object, check_id, get_object, object_of, objects_with_version, row_of, task_ids_of
from workspace.tables import object_tasks, objects, versions

PAGE = 50
PAGE_LIMIT = 200


@dataclass(frozen=True)
class ObjectPage:
    """A page of a list; `next` asks for the page after it, and is None on the last one."""

    items: tuple[Object, ...]
    next: str | None


@dataclass(frozen=True)
class WorkVersion:
    """A version of an object: by whom, on top of which one, and how it was made."""

    object_id: str
    version: int
    base_version: int
    title: str
    media_type: str
    size: int
    sha256: str
    created_by: str
    created_at: datetime
    recipe: Mapping[str, Any]


def list_objects(
    scope: Scope,
    *,
    kind: str | None = None,
    query: str | None = None,
    task_id: str | None = None,
    cursor: str | None = None,
    limit: int = PAGE,
) -> ObjectPage:
    """Return objects that are not deleted, newest first; `query` is words of the title, in any case and order."""
    if not 1 <= limit <= PAGE_LIMIT:
        raise InvalidError(f"a page has 1 to {PAGE_LIMIT} items, not {limit}")
    statement = objects_with_version(scope, None).where(objects.c.deleted_at.is_(None))
    if kind is not None:
        statement = statement.where(objects.c.kind == kind)
    for word in titles.one_line(query or "")[:200].split():
        statement = statement.where(sa.or_(*(_title_contains(spelling) for spelling in _spellings(word))))
    if task_id is not None:
        linked = scope.select(object_tasks.c.object_id).where(object_tasks.c.task_id == task_id)
        statement = statement.where(objects.c.id.in_(linked))
    if cursor is not None:
        statement = statement.where(_older_than(scope, cursor))
    newest_first = statement.order_by(objects.c.created_at.desc(), objects.c.id.desc()).limit(limit + 1)
    rows = scope.rows(newest_first)
    tasks = task_ids_of(scope, [row.id for row in rows[:limit]])
    items = tuple(object_of(row, tasks.get(row.id, ())) for row in rows[:limit])
    return ObjectPage(items, items[-1].id if len(rows) > limit else None)


def list_versions(scope: Scope, object_id: str) -> list[WorkVersion]:
    """Return every version, newest first; raises NotFoundError, also for a deleted object."""
    get_object(scope, object_id)
    newest_first = scope.select(versions).where(versions.c.object_id == object_id).order_by(versions.c.version.desc())
    return [_version(row) for row in scope.rows(newest_first)]


def find_version_at(scope: Scope, object_id: str, at: datetime) -> WorkVersion | None:
    """Return the version that was the newest at a moment; None where there was none yet."""
    until = scope.select(versions).where(versions.c.object_id == object_id, versions.c.created_at <= at)
    row = scope.first(until.order_by(versions.c.version.desc()).limit(1))
    return None if row is None else _version(row)


def version_holding(scope: Scope, sha256: str) -> WorkVersion:
    """Return a version in this workspace with these bytes; raises NotFoundError, so a hash alone opens nothing."""
    check_id(sha256)
    row = scope.first(
        scope.select(versions).where(versions.c.sha256 == sha256).order_by(versions.c.created_at.desc()).limit(1)
    )
    if row is None:
        raise NotFoundError("no object in this workspace has these bytes")
    return _version(row)


def _title_contains(word: str) -> sa.ColumnElement[bool]:
    return objects.c.title.icontains(word, autoescape=True)


def _spellings(word: str) -> set[str]:
    # SQLite folds the case of ASCII only.
    return {word} if word.isascii() else {word, word.lower(), word.upper(), word.capitalize()}


def _older_than(scope: Scope, cursor: str) -> sa.ColumnElement[bool]:
    try:
        last = row_of(scope, cursor)
    except NotFoundError:
        raise InvalidError("the cursor is not one of this list; start without it") from None
    return sa.or_(
        objects.c.created_at < last.created_at,
        sa.and_(objects.c.created_at == last.created_at, objects.c.id < last.id),
    )


def _version(row: Row[Any]) -> WorkVersion:
    return WorkVersion(
        object_id=row.object_id,
        version=row.version,
        base_version=row.base_version,
        title=row.title,
        media_type=row.media_type,
        size=row.size,
        sha256=row.sha256,
        created_by=row.created_by,
        created_at=row.created_at,
        recipe=row.recipe,
    )

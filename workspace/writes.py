"""Writes of objects: once for each cause, and only on top of the version that the writer knew."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.database import Scope
from core.errors import ConflictError, InvalidError
from workspace import titles
from workspace.found import Object, check_id, get_object, object_made_by, row_of
from workspace.sight import mark_seen, seen_version
from workspace.tables import objects, versions

KINDS = ("document", "image", "video", "audio", "model3d", "collection", "flow")


def create_object(
    scope: Scope,
    *,
    kind: str,
    title: str,
    media_type: str,
    size: int,
    sha256: str,
    created_by: str,
    cause: str,
    task_id: str | None = None,
    recipe: Mapping[str, Any] | None = None,
    stale: bool = False,
    object_id: str | None = None,
) -> Object:
    """Make an object of stored bytes, once for its `cause`; `task_id` is linked to it and has seen it."""
    if kind not in KINDS:
        raise InvalidError(f"{kind!r} is no kind of object; choose one of {', '.join(KINDS)}")
    title = titles.clean_title(title)
    object_id = object_id or scope.ids.new("object")
    if object_made_by(scope, cause) or not scope.insert_new(
        objects,
        id=object_id,
        kind=kind,
        title=title,
        version=1,
        created_by=created_by,
        stale=stale,
        cause=cause,
        created_at=scope.now,
        updated_at=scope.now,
    ):
        return _made_before(scope, cause)
    _insert_version(
        scope,
        object_id,
        1,
        base_version=0,
        media_type=media_type,
        size=size,
        sha256=sha256,
        title=title,
        created_by=created_by,
        cause=cause,
        recipe=recipe,
    )
    if task_id is not None:
        mark_seen(scope, object_id, task_id, 1)
    scope.changed("object", object_id)
    return get_object(scope, object_id)


def add_version(
    scope: Scope,
    object_id: str,
    *,
    base_version: int,
    media_type: str,
    size: int,
    sha256: str,
    created_by: str,
    cause: str,
    title: str | None = None,
    task_id: str | None = None,
    recipe: Mapping[str, Any] | None = None,
) -> Object:
    """Put a version on top of `base_version`, once for its `cause`; a replay returns the version it made.

    `task_id` counts as having seen the new version if it had seen the base. Raises ConflictError with
    `current_version` when another writer was first, NotFoundError for an object that does not exist or is deleted.
    """
    check_id(object_id)
    if before := object_made_by(scope, cause):
        return before
    values: dict[str, Any] = {"version": base_version + 1, "stale": False, "updated_at": scope.now}
    if title is not None:
        values["title"] = titles.clean_title(title)
    on_top = scope.update(objects).where(
        objects.c.id == object_id, objects.c.version == base_version, objects.c.deleted_at.is_(None)
    )
    if scope.change(on_top.values(**values)) != 1:
        return object_made_by(scope, cause) or _refuse(scope, object_id, base_version)
    _insert_version(
        scope,
        object_id,
        base_version + 1,
        base_version=base_version,
        media_type=media_type,
        size=size,
        sha256=sha256,
        title=values.get("title") or get_object(scope, object_id, base_version).title,
        created_by=created_by,
        cause=cause,
        recipe=recipe,
    )
    if task_id is not None:
        knew = seen_version(scope, object_id, task_id) >= base_version
        # 0 links the task to the object, and changes nothing of what it has seen.
        mark_seen(scope, object_id, task_id, base_version + 1 if knew else 0)
    scope.changed("object", object_id)
    return get_object(scope, object_id)


def restore_version(
    scope: Scope,
    object_id: str,
    *,
    version: int,
    base_version: int,
    created_by: str,
    cause: str,
    task_id: str | None = None,
) -> Object:
    """Put an earlier version's bytes on top of `base_version`, once for its `cause`; raises as `add_version` does."""
    if before := object_made_by(scope, cause):
        return before
    old = get_object(scope, object_id, version)
    return add_version(
        scope,
        object_id,
        base_version=base_version,
        media_type=old.media_type,
        size=old.size,
        sha256=old.sha256,
        created_by=created_by,
        cause=cause,
        task_id=task_id,
        recipe={**old.recipe, "restored_from": version},
    )


def delete_object(scope: Scope, object_id: str, *, version: int) -> bool:
    """Delete an object if `version` is still its current one, and tell whether it is deleted now."""
    row = row_of(scope, object_id)
    if row.deleted_at is not None:
        return True
    still = scope.update(objects).where(
        objects.c.id == object_id, objects.c.version == version, objects.c.deleted_at.is_(None)
    )
    done = scope.change(still.values(deleted_at=scope.now, updated_at=scope.now)) == 1
    if done:
        scope.changed("object", object_id)
    return done


def _refuse(scope: Scope, object_id: str, base_version: int) -> Object:
    """Raise ConflictError that names the current version; it never returns."""
    current = get_object(scope, object_id)
    raise ConflictError(
        f"{current.title!r} is at version {current.version}, not {base_version}; "
        f"read version {current.version} and write on top of it",
        current_version=current.version,
    )


def _made_before(scope: Scope, cause: str) -> Object:
    made = object_made_by(scope, cause)
    if made is None:
        raise ConflictError(f"{cause!r} has made something else already")
    return made


def _insert_version(
    scope: Scope, object_id: str, version: int, *, recipe: Mapping[str, Any] | None, **values: Any
) -> None:
    scope.insert(
        versions,
        object_id=object_id,
        version=version,
        recipe=dict(recipe or {}),
        created_at=scope.now,
        **values,
    )

"""An object as of one of its versions, and its history."""

from __future__ import annotations

from typing import Any

from app.web.presenters.values import moment
from core.database import Scope
from workspace import objects
from workspace.objects import Object, Version


def object_by_id(scope: Scope, object_id: str, version: int | None = None) -> dict[str, Any]:
    """Raises NotFoundError."""
    return object_shape(objects.get(scope, object_id, version))


def object_shape(work: Object) -> dict[str, Any]:
    return {
        "id": work.id,
        "kind": work.kind,
        "title": work.title,
        "version": work.version,
        "current_version": work.current_version,
        "media_type": work.media_type,
        "size": work.size,
        "sha256": work.sha256,
        "task_ids": list(work.task_ids),
        "created_by": work.created_by,
        "created_at": moment(work.created_at),
        "updated_at": moment(work.updated_at),
        "stale": work.stale,
        "recipe": dict(work.recipe),
    }


def version_shape(version: Version) -> dict[str, Any]:
    return {
        "version": version.version,
        "base_version": version.base_version,
        "title": version.title,
        "media_type": version.media_type,
        "size": version.size,
        "sha256": version.sha256,
        "created_by": version.created_by,
        "created_at": moment(version.created_at),
        "recipe": dict(version.recipe),
    }

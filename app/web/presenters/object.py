"""The shapes of a work at one version, and of the versions in its history."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict

from app.web.presenters.values import Moment, moment
from core.database import Scope
from workspace import objects
from workspace.objects import Object, WorkVersion


class ObjectShape(TypedDict):
    """A work at one of its versions; `recipe` says how that version was made."""

    id: str
    kind: str
    title: str
    version: int
    current_version: int
    media_type: str
    size: int
    sha256: str
    task_ids: list[str]
    created_by: str
    created_at: Moment
    updated_at: Moment
    stale: bool
    recipe: dict[str, Any]


class ObjectVersion(TypedDict):
    """`base_version` is the version it was made from; null for the first."""

    version: int
    base_version: int | None
    title: str
    media_type: str
    size: int
    sha256: str
    created_by: str
    created_at: Moment
    recipe: dict[str, Any]


def object_by_id(scope: Scope, object_id: str, version: int | None = None) -> ObjectShape:
    """Return a work's shape. Raise NotFoundError."""
    return object_shape(objects.get_object(scope, object_id, version))


def object_shape(work: Object) -> ObjectShape:
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


def object_version_shape(version: WorkVersion) -> ObjectVersion:
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

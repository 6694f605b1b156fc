"""State of the shared workspace that a model is shown at every step."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from core.clock import to_local_minute
from core.database import Scope
from core.errors import NotFoundError
from workspace import objects
from workspace.objects import Object

SHOWN = 50


def objects_state(scope: Scope, task_id: str | None) -> Mapping[str, Any]:
    """Return `objects`, the task's own or for Main the newest, and `changes` since the task saw them."""
    if task_id is None:
        return {
            "objects": [
                {**object_facts(work), **_times(scope, work)} for work in objects.list_objects(scope, limit=SHOWN).items
            ],
            "changes": [],
        }
    unseen = objects.list_unseen(scope, task_id)
    changed = {change.object_id for change in unseen}
    return {
        "objects": [
            {**object_facts(work), **_times(scope, work), "changed": work.id in changed}
            for work in objects.objects_of_task(scope, task_id)[-SHOWN:]
        ],
        "changes": [
            {"object_id": change.object_id, "from": change.seen_version, "to": change.version} for change in unseen
        ],
    }


def is_object_of_task(scope: Scope, thing_id: str, task_id: str) -> bool:
    """Tell whether this is an object that the task works with, so that its checklist may name it as evidence."""
    try:
        return task_id in objects.get_object(scope, thing_id).task_ids
    except NotFoundError:
        return False


def versions_of_call(scope: Scope, call_id: str) -> list[dict[str, Any]]:
    """Return what a call has written, even if it was deleted since."""
    work = objects.object_made_by(scope, call_id)
    return [] if work is None else [{"kind": "object", "id": work.id, "version": work.version, "title": work.title}]


def version_of(scope: Scope, object_id: str) -> int | None:
    """Return the current version of an object; None when it is gone."""
    found = objects.objects_by_ids(scope, [object_id]).get(object_id)
    return None if found is None else found.version


def object_input(scope: Scope, ref_id: str) -> dict[str, Any]:
    """Return an object that was given to a task as an input; `ref_id` is its id, or `id:version`."""
    object_id, _, version = ref_id.partition(":")
    try:
        work = objects.get_object(scope, object_id, int(version) if version else None)
    except NotFoundError:
        return {"kind": "object", "object_id": object_id, "deleted": True}
    return {"kind": "object", "object_id": work.id, "version": work.version, "title": work.title}


def _times(scope: Scope, work: Object) -> dict[str, str]:
    zone = scope.read_time_zone()
    return {
        "made_at": to_local_minute(work.created_at, zone),
        "changed_at": to_local_minute(work.updated_at, zone),
    }


def describe_object(scope: Scope, object_id: str, at: datetime) -> dict[str, Any]:
    """Describe an object as it was at a moment, for a message that names it."""
    try:
        work = objects.get_object(scope, object_id)
    except NotFoundError:
        return {"id": object_id, "deleted": True}
    then = objects.find_version_at(scope, object_id, at)
    title, version = (work.title, work.version) if then is None else (then.title, then.version)
    return {"id": work.id, "kind": work.kind, "title": title, "version": version}


def object_facts(work: Object) -> dict[str, Any]:
    """Return the few facts about an object that a model needs."""
    return {
        "id": work.id,
        "kind": work.kind,
        "title": work.title,
        "version": work.version,
        "media_type": work.media_type,
        "stale": work.stale,
        "changed": False,
    }

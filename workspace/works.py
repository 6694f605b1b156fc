"""Generated works, stored as objects or new versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.database import Scope
from core.errors import ConflictError, NotFoundError
from workspace import titles
from workspace.assets import Asset
from workspace.found import Object, get_object, object_made_by, objects_by_ids
from workspace.sight import mark_seen
from workspace.writes import add_version, create_object


def file_output(
    scope: Scope,
    *,
    kind: str,
    title: str,
    asset: Asset,
    task_id: str | None,
    cause: str,
    recipe: Mapping[str, Any],
    object_id: str | None = None,
    base_version: int | None = None,
) -> Object:
    """Store an output, once for its `cause` (`order:output`): a new object, or the next version of `object_id`.

    When that object has changed since `base_version`, or is gone, the output replaces nothing: it becomes a separate
    object that is stale, and its recipe says what it was made for. The same happens when the works that its recipe
    names as `inputs` have changed. The task has seen the returned object.
    """
    if before := object_made_by(scope, cause):
        return before
    facts: dict[str, Any] = {
        "title": titles.fit_title(title, otherwise=kind),
        "media_type": asset.media_type,
        "size": asset.size,
        "sha256": asset.sha256,
        "created_by": f"task:{task_id}" if task_id else "generation",
        "cause": cause,
    }
    work = None
    outdated = _have_inputs_changed(scope, recipe)
    if object_id is not None and not outdated:
        work = _add_on_top(scope, object_id, kind, base_version or 0, {**facts, "recipe": recipe})
    if work is None:
        if object_id is not None:
            recipe = {**recipe, "made_for": {"object_id": object_id, "version": base_version}}
        stale = outdated or object_id is not None
        work = create_object(scope, kind=kind, recipe=recipe, stale=stale, object_id=_id_for(cause), **facts)
    if task_id is None:
        return work
    mark_seen(scope, work.id, task_id, work.version)
    return get_object(scope, work.id, work.version)


def _have_inputs_changed(scope: Scope, recipe: Mapping[str, Any]) -> bool:
    """Tell whether a work that this was made from has another version by now, or is gone."""
    inputs = recipe.get("inputs", ())
    now = objects_by_ids(scope, [str(one["object_id"]) for one in inputs]) if inputs else {}
    return any(one["object_id"] not in now or now[one["object_id"]].version != one["version"] for one in inputs)


def _id_for(cause: str) -> str:
    """Make an id with the time of the order, so that works sort in the order they were asked for."""
    return "object_" + cause.partition("_")[2].replace(":", "_")


def _add_on_top(scope: Scope, object_id: str, kind: str, base_version: int, facts: Mapping[str, Any]) -> Object | None:
    """Add the next version; None when the object is gone, has changed, or is of another kind."""
    before = objects_by_ids(scope, [object_id]).get(object_id)
    if before is None or before.kind != kind:
        return None
    try:
        return add_version(scope, object_id, base_version=base_version, **facts)
    except (ConflictError, NotFoundError):
        return None

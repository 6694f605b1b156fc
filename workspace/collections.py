"""Collections: objects that name other objects, each in the version it was collected in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from core.errors import InvalidError, NotFoundError
from workspace import objects
from workspace.access import Access
from workspace.assets import Assets
from workspace.objects import Object
from workspace.structured import ITEMS_LIMIT, JSON


@dataclass(frozen=True)
class CollectionItem:
    """An object in the version it was collected in."""

    object_id: str
    version: int


def store_collection(
    access: Access,
    assets: Assets,
    *,
    title: str,
    object_ids: Sequence[str],
    created_by: str,
    cause: str,
    task_id: str | None = None,
) -> Object:
    """Make a collection, once for its `cause`, in the order given, each object once; raises NotFoundError."""
    wanted = list(dict.fromkeys(object_ids))
    if not 1 <= len(wanted) <= ITEMS_LIMIT:
        raise InvalidError(f"a collection has 1 to {ITEMS_LIMIT} objects, not {len(wanted)}")
    with access.reading() as scope:
        if before := objects.object_made_by(scope, cause):
            return before
        found = objects.objects_by_ids(scope, wanted)
    if unknown := [object_id for object_id in wanted if object_id not in found]:
        raise NotFoundError(f"not in this workspace: {', '.join(object_id[:80] for object_id in unknown[:10])}")
    items = [{"object_id": object_id, "version": found[object_id].version} for object_id in wanted]
    asset = assets.put(json.dumps({"items": items}).encode())
    with access.transaction() as scope:
        return objects.create_object(
            scope,
            kind="collection",
            title=title,
            media_type=JSON,
            size=asset.size,
            sha256=asset.sha256,
            created_by=created_by,
            cause=cause,
            task_id=task_id,
        )


def items_of(assets: Assets, collection: Object) -> list[CollectionItem]:
    """Return the items of a collection, deleted objects included; raises InvalidError for another kind of object."""
    if collection.kind != "collection":
        raise InvalidError(f"{collection.title!r} is a {collection.kind}, not a collection")
    content = json.loads(assets.read(collection.sha256))
    return [CollectionItem(item["object_id"], item["version"]) for item in content["items"]]

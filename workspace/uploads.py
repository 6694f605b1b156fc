"""Uploads: files of people, typed by their bytes and not by their name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO

from core.errors import InvalidError
from workspace import objects
from workspace.access import Access
from workspace.assets import Assets
from workspace.media_types import kind_of
from workspace.objects import Object


def upload_object(
    access: Access,
    assets: Assets,
    data: bytes | IO[bytes] | Iterable[bytes],
    *,
    title: str,
    created_by: str,
    cause: str,
    kind: str | None = None,
    declared: str | None = None,
) -> Object:
    """Make an object of a file, once for its `cause`. `declared` is the sender's media type, used only for texts.

    Raises InvalidError when the file is too large, or is not of the declared `kind`.
    """
    asset = assets.put(data, declared=declared)
    found = kind_of(asset.media_type)
    if kind is not None and kind != found:
        raise InvalidError(f"the file is {asset.media_type}, of kind {found}, not {kind}")
    with access.transaction() as scope:
        return objects.create_object(
            scope,
            kind=found,
            title=title,
            media_type=asset.media_type,
            size=asset.size,
            sha256=asset.sha256,
            created_by=created_by,
            cause=cause,
        )


def replace_object(
    access: Access,
    assets: Assets,
    object_id: str,
    data: bytes | IO[bytes] | Iterable[bytes],
    *,
    base_version: int,
    created_by: str,
    cause: str,
    declared: str | None = None,
) -> Object:
    """Put a file on top of `base_version`, once for its `cause`; the object keeps its kind.

    Raises ConflictError with `current_version` when the object has changed, InvalidError as `upload_object` does.
    """
    with access.reading() as scope:
        if before := objects.object_made_by(scope, cause):
            return before
        work = objects.get_object(scope, object_id)
    asset = assets.put(data, declared=declared or work.media_type)
    if kind_of(asset.media_type) != work.kind:
        raise InvalidError(f"the file is {asset.media_type}, but {work.title!r} is of kind {work.kind}")
    with access.transaction() as scope:
        return objects.add_version(
            scope,
            object_id,
            base_version=base_version,
            media_type=asset.media_type,
            size=asset.size,
            sha256=asset.sha256,
            created_by=created_by,
            cause=cause,
        )

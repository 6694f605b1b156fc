"""Objects: works with versions that people and tasks share. One module to import them from."""

from __future__ import annotations

from workspace.found import Object, get_object, object_made_by, objects_by_ids
from workspace.listing import (
    ObjectPage,
    WorkVersion,
    find_version_at,
    list_objects,
    list_versions,
    version_holding,
)
from workspace.sight import Unseen, check_current, link_object, list_unseen, mark_seen, objects_of_task, seen_version
from workspace.writes import KINDS, add_version, create_object, delete_object, restore_version

__all__ = [
    "KINDS",
    "Object",
    "ObjectPage",
    "Unseen",
    "WorkVersion",
    "add_version",
    "check_current",
    "create_object",
    "delete_object",
    "find_version_at",
    "get_object",
    "link_object",
    "list_objects",
    "list_unseen",
    "list_versions",
    "mark_seen",
    "object_made_by",
    "objects_by_ids",
    "objects_of_task",
    "restore_version",
    "seen_version",
    "version_holding",
]

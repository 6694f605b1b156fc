"""The door to objects: works with versions that people and tasks share."""

from __future__ import annotations

from workspace.found import Object, by_ids, get, made_by
from workspace.listing import Page, Version, history, holding, listing
from workspace.sight import Unseen, check_current, link, of_task, seen, seen_version, unseen
from workspace.writes import KINDS, add_version, create, delete, restore

__all__ = [
    "KINDS",
    "Object",
    "Page",
    "Unseen",
    "Version",
    "add_version",
    "by_ids",
    "check_current",
    "create",
    "delete",
    "get",
    "history",
    "holding",
    "link",
    "listing",
    "made_by",
    "of_task",
    "restore",
    "seen",
    "seen_version",
    "unseen",
]

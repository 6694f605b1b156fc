"""Dependencies of the router, with its view of the shared workspace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from core.database import Database, Scope
from core.llm.port import Model


@dataclass(frozen=True)
class RouteWork:
    """An object of the workspace, with the fields that routing needs.

    `changed_at` is when its newest version came; `made_by` is the task that made it, None for a person's own.
    """

    id: str
    kind: str
    title: str
    changed_at: datetime
    made_by: str | None


class RouteWorks(Protocol):
    """The shared workspace, passed in by the composition root."""

    def of_tasks(self, scope: Scope, task_ids: Sequence[str]) -> Mapping[str, Sequence[RouteWork]]:
        """Return the objects of each task that are not deleted, in the order they were made."""
        ...

    def by_ids(self, scope: Scope, object_ids: Sequence[str]) -> Sequence[RouteWork]:
        """Return those of the objects that exist and are not deleted."""
        ...

    def tasks_of(self, scope: Scope, object_id: str) -> Sequence[str] | None:
        """Return the ids of the tasks that work with the object; None when it is deleted or unknown."""
        ...

    def link(self, scope: Scope, object_id: str, task_id: str) -> None:
        """Link the object to the task."""
        ...


@dataclass(frozen=True)
class RouterDependencies:
    """Database, model and works for routing."""

    database: Database
    model: Model
    works: RouteWorks
    lease: timedelta = timedelta(seconds=30)
    """How long a judgement whose process died keeps others from judging the same message."""

"""What the router depends on, and what it asks of the shared workspace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from core.database import Database, Scope
from core.llm.port import Model


@dataclass(frozen=True)
class RouteWork:
    """An object of the workspace, as much of it as routing needs."""

    id: str
    kind: str
    title: str


class RouteWorks(Protocol):
    """The shared workspace, as the composition root hands it in."""

    def of_tasks(self, scope: Scope, task_ids: Sequence[str]) -> Mapping[str, Sequence[RouteWork]]:
        """The objects of each task that are not deleted, in the order they were made."""
        ...

    def by_ids(self, scope: Scope, object_ids: Sequence[str]) -> Sequence[RouteWork]:
        """Those of the objects that are there and not deleted."""
        ...

    def tasks_of(self, scope: Scope, object_id: str) -> Sequence[str] | None:
        """The ids of the tasks that work with the object; None when it is deleted or unknown."""
        ...

    def link(self, scope: Scope, object_id: str, task_id: str) -> None:
        """Hand the object to the task."""
        ...


@dataclass(frozen=True)
class RouterDependencies:
    database: Database
    model: Model
    works: RouteWorks
    lease: timedelta = timedelta(seconds=30)
    """How long a judgement that has died keeps others from judging the same message."""

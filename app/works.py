"""The shared workspace as the router sees it: two rooms that do not know each other meet here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core.database import Scope
from core.errors import NotFoundError
from router.parts import Work
from workspace import found, sight
from workspace.found import Object


class WorksForRouter:
    """Implements `router.parts.Works`."""

    def of_tasks(self, scope: Scope, task_ids: Sequence[str]) -> Mapping[str, Sequence[Work]]:
        return {task_id: [_work(one) for one in sight.of_task(scope, task_id)] for task_id in task_ids}

    def by_ids(self, scope: Scope, object_ids: Sequence[str]) -> Sequence[Work]:
        known = found.by_ids(scope, object_ids)
        return [_work(known[object_id]) for object_id in object_ids if object_id in known]

    def tasks_of(self, scope: Scope, object_id: str) -> Sequence[str] | None:
        try:
            return found.get(scope, object_id).task_ids
        except NotFoundError:
            return None

    def link(self, scope: Scope, object_id: str, task_id: str) -> None:
        sight.link(scope, object_id, task_id)


def _work(one: Object) -> Work:
    return Work(one.id, one.kind, one.title)

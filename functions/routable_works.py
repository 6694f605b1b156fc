"""Works of the workspace as the router needs them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core.database import Scope
from core.errors import NotFoundError
from router.dependencies import RouteWork
from workspace import objects
from workspace.objects import Object


class RoutableWorks:
    """Implements `router.dependencies.RouteWorks` by queries of the workspace."""

    def of_tasks(self, scope: Scope, task_ids: Sequence[str]) -> Mapping[str, Sequence[RouteWork]]:
        return {task_id: [_work(one) for one in objects.objects_of_task(scope, task_id)] for task_id in task_ids}

    def by_ids(self, scope: Scope, object_ids: Sequence[str]) -> Sequence[RouteWork]:
        found = objects.objects_by_ids(scope, list(object_ids))
        return [_work(found[one]) for one in dict.fromkeys(object_ids) if one in found]

    def tasks_of(self, scope: Scope, object_id: str) -> Sequence[str] | None:
        try:
            return objects.get_object(scope, object_id).task_ids
        except NotFoundError:
            return None

    def link(self, scope: Scope, object_id: str, task_id: str) -> None:
        objects.link_object(scope, object_id, task_id)


def _work(one: Object) -> RouteWork:
    maker, _, task_id = one.created_by.partition(":")
    return RouteWork(one.id, one.kind, one.title, one.updated_at, task_id if maker == "task" else None)

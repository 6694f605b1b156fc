"""Where a person may move a message to: the tasks that take one."""

from __future__ import annotations

from core.database import Scope
from router.facts import LIVING_STATUSES
from runtime import tasks
from runtime.tasks import Task

MOST = 50


def places(scope: Scope) -> list[Task]:
    """The last active first."""
    return tasks.listing(scope, LIVING_STATUSES, limit=MOST)

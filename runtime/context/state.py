"""State that a request ends with: what is true now, rendered fresh from the rows at every step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.database import Scope
from runtime.cards import cards
from runtime.context import size
from runtime.ports import StateSource
from runtime.tasks import checklist, tasks, waits
from runtime.tasks.tasks import Task

LONGEST_SHOWN_GOAL = 4_000
LONGEST_LISTED_GOAL = 300


def task_state(scope: Scope, task: Task, sources: Sequence[StateSource]) -> dict[str, Any]:
    state: dict[str, Any] = {
        "thread": "task",
        "task": {
            "id": task.id,
            "kind": task.kind,
            "goal": size.shorten_text(task.goal, task.id, LONGEST_SHOWN_GOAL),
            "language": task.language,
        },
        "language": task.language,
        "brief": task.brief,
        "checklist": [
            {
                "n": step.n,
                "title": step.title,
                "acceptance": step.acceptance,
                "status": step.status,
                "stale": step.stale,
                "evidence": list(step.evidence),
                "checkpoint": step.checkpoint,
                "mandatory": step.mandatory,
                "depends_on": list(step.depends_on),
            }
            for step in checklist.list_checklist(scope, task.id)
        ],
        "waiting_on": _wait_state(scope, task.id),
        "open_cards": [
            {"id": card.id, "kind": card.kind, "title": card.title} for card in cards.list_open_cards(scope, task.id)
        ],
    }
    for source in sources:
        state.update(source(scope, task.id))
    return state


def main_state(scope: Scope, language: str, sources: Sequence[StateSource]) -> dict[str, Any]:
    state: dict[str, Any] = {
        "thread": "main",
        "task": None,
        "language": language,
        "tasks": [
            {
                "id": task.id,
                "kind": task.kind,
                "goal": task.goal[:LONGEST_LISTED_GOAL],
                "status": task.status,
                "updated_at": task.updated_at.isoformat(),
            }
            for task in tasks.list_tasks(scope, limit=20)
        ],
        "open_cards": [
            {"id": card.id, "kind": card.kind, "title": card.title} for card in cards.list_open_cards(scope)
        ],
    }
    for source in sources:
        state.update(source(scope, None))
    return state


def _wait_state(scope: Scope, task_id: str) -> dict[str, Any] | None:
    wait = waits.find_wait(scope, task_id)
    return None if wait is None else {"type": wait.kind, "refs": wait.refs, "since": wait.created_at.isoformat()}

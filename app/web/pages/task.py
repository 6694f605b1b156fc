"""A task's own panel: its conversation, plan, works, questions and what it did."""

from __future__ import annotations

from typing import Any

from app.web.endpoints import Door
from app.web.pages.view import page
from app.web.parts import WebParts
from app.web.presenters.message import message_head
from app.web.presenters.object import object_shape
from app.web.presenters.task import task_by_id
from app.web.presenters.turn import turns_in_full
from core.database import Scope
from core.identity import Speaker
from runtime import messages, tasks
from runtime.turns import rows
from workspace import objects

TURNS_SHOWN = 20


def task_pages(parts: WebParts) -> Door:
    door = Door(parts, "task_pages")
    page(door, "/tasks", "tasks.html", _all)
    page(door, "/tasks/<task_id>", "task.html", _one)
    return door


def _all(scope: Scope, speaker: Speaker) -> dict[str, Any]:
    found = tasks.listing(scope, limit=100)
    return {
        "tasks": [{"id": t.id, "kind": t.kind, "goal": t.goal, "status": t.status, "at": t.updated_at} for t in found]
    }


def _one(scope: Scope, speaker: Speaker, task_id: str) -> dict[str, Any]:
    task = task_by_id(scope, task_id)
    said = messages.of_task(scope, task_id)
    attached = {one for message in said for one in message.attachments}
    works = {work["id"]: work for work in task["objects"]}
    works |= {one: object_shape(work) for one, work in objects.by_ids(scope, attached - works.keys()).items()}
    turns = rows.of_task(scope, task_id)[-TURNS_SHOWN:]
    return {
        "task": task,
        "messages": [message_head(message) for message in said],
        "works": works,
        "orders": {order["id"]: order for order in task["generations"]},
        "turns": list(reversed(turns_in_full(scope, turns))),
    }

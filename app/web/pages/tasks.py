"""The pages of tasks: all, and a single one with its conversation, plan, works, cards and turns."""

from __future__ import annotations

from typing import Any

from flask import request

from app.web.http import paging
from app.web.http.dependencies import WebDependencies
from app.web.http.endpoints import Endpoints
from app.web.pages.thread import move_targets
from app.web.pages.view import add_page
from app.web.presenters.message import messages_in_full
from app.web.presenters.object import object_shape
from app.web.presenters.task import task_by_id
from app.web.presenters.turn import turns_in_full
from core.database import Scope
from core.identity import Speaker
from runtime.inbox import messages
from runtime.tasks import tasks
from runtime.tasks.tasks import Task
from runtime.turns import rows
from workspace import objects

TURNS_SHOWN = 20


def task_pages(dependencies: WebDependencies) -> Endpoints:
    endpoints = Endpoints(dependencies, "task_pages")
    add_page(endpoints, "/tasks", "tasks.html", _list_tasks)
    add_page(endpoints, "/tasks/<task_id>", "task.html", _show_task)
    return endpoints


def _list_tasks(scope: Scope, speaker: Speaker) -> dict[str, Any]:
    size = paging.page_size()
    found = tasks.list_tasks(scope, limit=size + 1, before=paging.requested_place())
    listed = paging.cut_page(found, size, _task_row, lambda task: (task.updated_at, task.id))
    return {"tasks": listed["items"], "next": listed["next"], "is_older": "cursor" in request.args}


def _task_row(task: Task) -> dict[str, Any]:
    return {"id": task.id, "kind": task.kind, "goal": task.goal, "status": task.status, "at": task.updated_at}


def _show_task(scope: Scope, speaker: Speaker, task_id: str) -> dict[str, Any]:
    task = task_by_id(scope, task_id)
    task_messages = messages.list_task_messages(scope, task_id)
    attached = {one for message in task_messages for one in message.attachments}
    works = {work["id"]: work for work in task["objects"]}
    works |= {one: object_shape(work) for one, work in objects.objects_by_ids(scope, attached - works.keys()).items()}
    turns = rows.list_turns_of_task(scope, task_id)[-TURNS_SHOWN:]
    return {
        "task": task,
        "messages": messages_in_full(scope, task_messages),
        "works": works,
        "places": move_targets(scope),
        "orders": {order["id"]: order for order in task["generations"]},
        "turns": list(reversed(turns_in_full(scope, turns))),
    }

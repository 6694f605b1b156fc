"""The page of the main thread, tasks to move a message to, and the full text of a long message."""

from __future__ import annotations

from typing import Any

from flask import Response, request
from werkzeug.wrappers import Response as AnyResponse

from app.web.http import paging
from app.web.http.dependencies import WebDependencies
from app.web.http.endpoints import Endpoints
from app.web.pages.sign_in import exchange_key
from app.web.pages.view import render_page
from app.web.presenters.object import object_shape
from app.web.presenters.thread import newest_of_thread
from core.database import Scope
from core.identity import Speaker
from router.facts import LIVING_STATUSES
from runtime.inbox import messages
from runtime.tasks import tasks
from runtime.tasks.tasks import Task
from workspace import objects

MOST_TARGETS = 50


def move_targets(scope: Scope) -> list[Task]:
    """Return the tasks that a message can be moved to, the last active first."""
    return tasks.list_tasks(scope, LIVING_STATUSES, limit=MOST_TARGETS)


def thread_page(dependencies: WebDependencies) -> Endpoints:
    endpoints = Endpoints(dependencies, "thread_page")

    def fill(scope: Scope, speaker: Speaker) -> dict[str, Any]:
        thread = newest_of_thread(scope, speaker.person_id, paging.requested_place("before"), paging.page_size())
        attached = {one for item in thread["items"] if item["type"] == "message" for one in item["attachments"]}
        works = objects.objects_by_ids(scope, attached)
        return {
            "items": thread["items"],
            "older": thread["before"],
            "is_older": "before" in request.args,
            "places": move_targets(scope),
            "works": {work_id: object_shape(work) for work_id, work in works.items()},
        }

    guarded = endpoints.guard("read", lambda speaker: render_page(dependencies, speaker, "thread.html", fill))

    def home() -> AnyResponse:
        token = request.args.get("token")
        return guarded() if token is None else exchange_key(dependencies, token)

    endpoints.blueprint.add_url_rule("/", "thread", home, methods=["GET"])
    return endpoints


def whole_text_route(dependencies: WebDependencies) -> Endpoints:
    endpoints = Endpoints(dependencies, "whole_text")

    def show(speaker: Speaker, message_id: str) -> Response:
        with dependencies.database.reading(speaker.workspace_id) as scope:
            text = messages.get_message(scope, message_id).text
        answer = Response(text, content_type="text/plain; charset=utf-8")
        answer.headers["Cache-Control"] = "no-store"
        return answer

    endpoints.serves(
        "GET", "/messages/<message_id>/text", "A message as it was written", scope="read", media="text/plain"
    )(show, "whole_text")
    return endpoints

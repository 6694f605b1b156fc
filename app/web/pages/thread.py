"""The main thread, which is also where the printed address leads."""

from __future__ import annotations

from typing import Any

from flask import request
from werkzeug.wrappers import Response

from app.web import paging
from app.web.endpoints import Door
from app.web.pages.places import places
from app.web.pages.sign_in import exchange
from app.web.pages.view import shown
from app.web.parts import WebParts
from app.web.presenters.object import object_shape
from app.web.presenters.thread import newest_of_thread
from core.database import Scope
from core.identity import Speaker
from workspace import objects


def thread_page(parts: WebParts) -> Door:
    door = Door(parts, "thread_page")

    def fill(scope: Scope, speaker: Speaker) -> dict[str, Any]:
        thread = newest_of_thread(scope, speaker.person_id, paging.place("before"), paging.page_size())
        attached = {one for item in thread["items"] if item["type"] == "message" for one in item["attachments"]}
        works = objects.objects_by_ids(scope, attached)
        return {
            "items": thread["items"],
            "older": thread["before"],
            "is_older": "before" in request.args,
            "places": places(scope),
            "works": {work_id: object_shape(work) for work_id, work in works.items()},
        }

    guarded = door.guard("read", lambda speaker: shown(parts, speaker, "thread.html", fill))

    def home() -> Response:
        token = request.args.get("token")
        return guarded() if token is None else exchange(parts, token)

    door.blueprint.add_url_rule("/", "thread", home, methods=["GET"])
    return door

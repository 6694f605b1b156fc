"""The whole of a message whose beginning the pages show: a browser takes long to lay out what nobody reads there."""

from __future__ import annotations

from flask import Response

from app.web.endpoints import Door
from app.web.parts import WebParts
from core.identity import Speaker
from runtime import messages


def whole_text(parts: WebParts) -> Door:
    door = Door(parts, "whole_text")

    def show(speaker: Speaker, message_id: str) -> Response:
        with parts.database.reading(speaker.workspace_id) as scope:
            text = messages.get(scope, message_id).text
        answer = Response(text, content_type="text/plain; charset=utf-8")
        answer.headers["Cache-Control"] = "no-store"
        return answer

    door.serves("GET", "/messages/<message_id>/text", "A message as it was written", scope="read", media="text/plain")(
        show, "whole_text"
    )
    return door

"""Orders for things made elsewhere."""

from __future__ import annotations

from app.web.endpoints import Answer, Door
from app.web.parts import WebParts
from app.web.presenters.generation import generation_by_id
from core.database import Scope
from core.identity import Speaker


def generations_api(parts: WebParts) -> Door:
    door = Door(parts, "generations_api")

    @door.reads("/api/v1/generations/<order_id>", "An order, its progress and what came of it")
    def get_generation(scope: Scope, speaker: Speaker, order_id: str) -> Answer:
        return generation_by_id(scope, order_id)

    return door

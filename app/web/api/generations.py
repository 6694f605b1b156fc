"""Orders for things made elsewhere."""

from __future__ import annotations

from app.web.bodies import Body
from app.web.endpoints import Door
from app.web.parts import WebParts
from app.web.presenters.generation import GenerationShape, generation_by_id
from core.database import Scope
from core.identity import Speaker
from generation.orders import end as order_end


def generations_api(parts: WebParts) -> Door:
    door = Door(parts, "generations_api")

    @door.reads("/api/v1/generations/<order_id>", "An order, its progress and what came of it")
    def get_generation(scope: Scope, speaker: Speaker, order_id: str) -> GenerationShape:
        return generation_by_id(scope, order_id)

    @door.acts("/api/v1/generations/<order_id>/cancel", "Wish for its end; the provider may be too late")
    def cancel_generation(scope: Scope, speaker: Speaker, body: Body, order_id: str) -> GenerationShape:
        order_end.cancel_order(scope, order_id)
        return generation_by_id(scope, order_id)

    return door

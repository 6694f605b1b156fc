"""Reviews of skills: asking for one, and what they found."""

from __future__ import annotations

from typing import Any

from app.web.endpoints import Answer, Door
from app.web.parts import WebParts
from app.web.presenters.skill_review import review_shape
from core.database import Scope
from core.identity import Speaker
from skills import book
from skills.review import rows


def skill_reviews_api(parts: WebParts) -> Door:
    door = Door(parts, "skill_reviews_api")

    @door.reads("/api/v1/skills/<skill_id>/reviews", "Its reviews, newest first: what was found and proposed")
    def list_reviews(scope: Scope, speaker: Speaker, skill_id: str) -> Answer:
        book.get(scope, skill_id)
        return {"items": [review_shape(one) for one in rows.of_skill(scope, skill_id)], "next": None}

    @door.acts("/api/v1/skills/<skill_id>/review", "Review it now instead of on Friday", status=202)
    def review_skill(scope: Scope, speaker: Speaker, body: object, skill_id: str) -> dict[str, Any]:
        asked = rows.request(scope, skill_id, f"asked:{scope.ids.new('review')}")
        return {"review_id": asked.id, "state": asked.state}

    return door

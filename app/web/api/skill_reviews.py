"""Reviews of skills: asking for one, what they found, and telling them what came of an alarm."""

from __future__ import annotations

from pydantic import Field
from typing_extensions import TypedDict

from app.web import paging
from app.web.bodies import Body
from app.web.endpoints import Door
from app.web.parts import WebParts
from app.web.presenters.skill_review import ReviewShape, review_shape
from core.database import Scope
from core.errors import InvalidError, NotFoundError
from core.identity import Speaker
from skills import book, outcomes, runs
from skills.review import rows
from skills.review.meaning import meaning

TOLD = "told"
"""The kind of an outcome that somebody told by themselves, without being asked on a card."""


class Outcome(Body):
    """`value` says what came of it, such as `real`, `false alarm` or `missed`; `run_id` names the run that alarmed,
    and is left out for what no run saw.
    """

    value: str = Field(min_length=1, max_length=outcomes.LONGEST_VALUE)
    run_id: str | None = Field(None, min_length=1, max_length=64)
    text: str = Field("", max_length=2000)


class AskedReview(TypedDict):
    review_id: str
    state: str


class ToldOutcome(TypedDict):
    skill_id: str
    run_id: str | None
    value: str


def skill_reviews_api(parts: WebParts) -> Door:
    door = Door(parts, "skill_reviews_api")

    @door.reads("/api/v1/skills/<skill_id>/reviews", "Its reviews, newest first: what was found and proposed")
    def list_reviews(scope: Scope, speaker: Speaker, skill_id: str) -> paging.Listed[ReviewShape]:
        book.get(scope, skill_id)
        return {"items": [review_shape(one) for one in rows.of_skill(scope, skill_id)], "next": None}

    @door.acts("/api/v1/skills/<skill_id>/review", "Review it now instead of on Friday", status=202)
    def review_skill(scope: Scope, speaker: Speaker, body: object, skill_id: str) -> AskedReview:
        asked = rows.request(scope, skill_id, f"asked:{scope.ids.new('review')}")
        return {"review_id": asked.id, "state": asked.state}

    @door.acts(
        "/api/v1/skills/<skill_id>/outcomes", "Tell what came of an alarm, or of one that never came", body=Outcome
    )
    def tell_outcome(scope: Scope, speaker: Speaker, body: Outcome, skill_id: str) -> ToldOutcome:
        book.get(scope, skill_id)
        if meaning(body.value) == "other":
            raise InvalidError("say `real`, `false alarm`, `too late` or `missed`, or words with one of these in them")
        if body.run_id is not None:
            run = runs.find(scope, body.run_id)
            if run is None or run.skill_id != skill_id:
                raise NotFoundError(f"{skill_id} has no run {body.run_id}")
        outcomes.record(
            scope,
            skill_id=skill_id,
            run_id=body.run_id,
            kind=TOLD,
            value=body.value,
            by=speaker.person_id,
            cause=f"told:{scope.ids.new('outcome')}",
            facts={"text": body.text},
        )
        return {"skill_id": skill_id, "run_id": body.run_id, "value": body.value}

    return door

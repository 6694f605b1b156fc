"""Skills: their state, versions and runs, the commands on them, and their reviews and outcomes."""

from __future__ import annotations

from typing import Any

from flask import request
from pydantic import Field
from typing_extensions import TypedDict

from app.web.api.messages import Taken
from app.web.http import paging
from app.web.http.authorization import require_person
from app.web.http.dependencies import WebDependencies
from app.web.http.endpoints import Endpoints
from app.web.http.inputs import Body
from app.web.presenters.skills.account import SkillAccount, repair_request, skill_account, version_to_compare
from app.web.presenters.skills.review import ReviewShape, review_shape
from app.web.presenters.skills.skill import SkillShape, SkillVersion, skill_shape, skill_version_shape
from core.database import Scope
from core.errors import ConflictError, InvalidError, NotFoundError
from core.identity import Speaker
from core.orchestrator.engine import Engine
from runtime.inbox import messages
from skills.book import outcomes, runs, versions
from skills.book import skill as book_skill
from skills.book.invoke_event import choose_function, invoke_event_name
from skills.lifecycle import control
from skills.review import reviews
from skills.review.facts import answer_meaning


class Rollback(Body):
    """`version` is the number to go back to; by default the version that was active before."""

    version: int | None = Field(None, ge=1)


class AskSkillChange(Body):
    """`text` says what should change; without it the agent is asked to repair the skill."""

    text: str = Field("", max_length=20_000)
    client_id: str | None = Field(None, min_length=1, max_length=200)


class InvokeFunction(Body):
    """`data` becomes the event's data; `function` is needed if the skill has several."""

    data: dict[str, Any] = Field(default_factory=dict)
    function: str | None = Field(None, max_length=128)


class SkillVersionInFull(SkillVersion):
    """`diff` compares it with the version `against`, or with an empty file if that is null."""

    source: str
    against: int | None
    diff: str


class Invoked(TypedDict):
    event_id: str


def skills_api(dependencies: WebDependencies) -> Endpoints:
    endpoints = Endpoints(dependencies, "skills_api")

    @endpoints.reads("/api/v1/skills", "Skills: what serves, from which file, with which problems")
    def list_skills(scope: Scope, speaker: Speaker) -> paging.ListPage[SkillShape]:
        return {"items": [skill_shape(scope, skill) for skill in book_skill.list_skills(scope)], "next": None}

    @endpoints.reads("/api/v1/skills/<skill_id>", "A skill with its versions, permissions, runs and days")
    def get_skill(scope: Scope, speaker: Speaker, skill_id: str) -> SkillAccount:
        return skill_account(scope, book_skill.get_skill(scope, skill_id))

    @endpoints.reads("/api/v1/skills/<skill_id>/versions", "Its versions, newest first: who wrote each, and why")
    def list_versions(scope: Scope, speaker: Speaker, skill_id: str) -> paging.ListPage[SkillVersion]:
        book_skill.get_skill(scope, skill_id)
        return {
            "items": [skill_version_shape(scope, one) for one in versions.list_versions(scope, skill_id)],
            "next": None,
        }

    @endpoints.reads(
        "/api/v1/skills/<skill_id>/versions/<number>",
        "One version with its source and what it changed",
        query={"against": "the number of the version that `diff` compares it with, else what it was made of"},
    )
    def get_version(scope: Scope, speaker: Speaker, skill_id: str, number: str) -> SkillVersionInFull:
        version = versions.get_version_by_number(scope, skill_id, _version_number(number))
        against = request.args.get("against")
        before = version_to_compare(scope, version, None if against is None else _version_number(against))
        return {
            **skill_version_shape(scope, version),
            "source": version.source,
            "against": before.number if before is not None else None,
            "diff": versions.diff_versions(before, version),
        }

    _register_skill_commands(endpoints)
    _register_invoke(endpoints, Engine.of(dependencies.settings))
    return endpoints


def _register_skill_commands(endpoints: Endpoints) -> None:
    path = "/api/v1/skills/<skill_id>"

    @endpoints.acts(f"{path}/enable", "Turn it on; its permissions are asked on a card first")
    def enable_skill(scope: Scope, speaker: Speaker, body: object, skill_id: str) -> SkillShape:
        return skill_shape(scope, control.enable(scope, skill_id, _person_of(speaker)))

    @endpoints.acts(f"{path}/disable", "Turn it off: running runs finish, no new ones start")
    def disable_skill(scope: Scope, speaker: Speaker, body: object, skill_id: str) -> SkillShape:
        return skill_shape(scope, control.disable(scope, skill_id, speaker.person_id))

    @endpoints.acts(f"{path}/rollback", "Serve an earlier version again", body=Rollback)
    def rollback_skill(scope: Scope, speaker: Speaker, body: Rollback, skill_id: str) -> SkillShape:
        return skill_shape(scope, control.rollback(scope, skill_id, _person_of(speaker), body.version))

    @endpoints.acts(f"{path}/ask", "Ask the agent to change or repair it", body=AskSkillChange, status=202)
    def ask_agent(scope: Scope, speaker: Speaker, body: AskSkillChange, skill_id: str) -> Taken:
        skill = book_skill.get_skill(scope, skill_id)
        text = body.text.strip() or repair_request(scope, skill)
        if not text:
            raise InvalidError(f"nothing is wrong with {skill_id}: say what should change")
        message = messages.receive_message(
            scope,
            person_id=speaker.person_id,
            asked_by=speaker.speaks_as,
            channel_id=None,
            text=text if skill_id in text else f"The skill {skill_id}: {text}",
            client_id=body.client_id,
        )
        return {"message_id": message.id, "state": message.state}

    @endpoints.acts(path, "Delete it with its file", method="DELETE")
    def delete_skill(scope: Scope, speaker: Speaker, body: object, skill_id: str) -> SkillShape:
        return skill_shape(scope, control.delete(scope, skill_id, _person_of(speaker)))


def _register_invoke(endpoints: Endpoints, engine: Engine) -> None:
    def send(speaker: Speaker, body: InvokeFunction, skill_id: str) -> str:
        with endpoints.dependencies.database.reading(speaker.workspace_id) as scope:
            skill = book_skill.get_skill(scope, skill_id)
            if not skill.serves or skill.version_id is None:
                raise ConflictError(f"{skill_id} is {skill.status}: no run of it can begin", status=skill.status)
            function = choose_function(versions.get_version(scope, skill.version_id), body.function)
        # The engine assigns the event's id. A repeated Idempotency-Key is answered before this.
        [event_id] = engine.send_all([{"name": invoke_event_name(skill_id, function), "data": body.data}])
        return event_id

    @endpoints.acts(
        "/api/v1/skills/<skill_id>/invoke",
        "Start a run now, whatever its triggers",
        body=InvokeFunction,
        prepare=send,
        status=202,
    )
    def invoke_skill(scope: Scope, speaker: Speaker, sent: str, skill_id: str) -> Invoked:
        return {"event_id": sent}


def _person_of(speaker: Speaker) -> str:
    """Return the person. Refuse a program's key, which may only turn a skill off."""
    require_person(speaker, "do this to a skill")
    return speaker.person_id


def _version_number(raw: str) -> int:
    if not (raw.isascii() and raw.isdigit() and len(raw) < 9):
        raise InvalidError("a version is named by its number")
    return int(raw)


TOLD_KIND = "told"
"""The kind of an outcome that was reported here, not asked on a card."""


class TellOutcome(Body):
    """`value` is the outcome, such as `real`, `false alarm` or `missed`; `run_id` names the run that raised the alarm,
    and is left out for a missed one.
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


def skill_reviews_api(dependencies: WebDependencies) -> Endpoints:
    endpoints = Endpoints(dependencies, "skill_reviews_api")

    @endpoints.reads("/api/v1/skills/<skill_id>/reviews", "Its reviews, newest first: what was found and proposed")
    def list_reviews(scope: Scope, speaker: Speaker, skill_id: str) -> paging.ListPage[ReviewShape]:
        book_skill.get_skill(scope, skill_id)
        return {"items": [review_shape(one) for one in reviews.list_reviews(scope, skill_id)], "next": None}

    @endpoints.acts("/api/v1/skills/<skill_id>/review", "Review it now instead of on Friday", status=202)
    def review_skill(scope: Scope, speaker: Speaker, body: object, skill_id: str) -> AskedReview:
        asked = reviews.request_review(scope, skill_id, f"asked:{scope.ids.new('review')}")
        return {"review_id": asked.id, "state": asked.state}

    @endpoints.acts(
        "/api/v1/skills/<skill_id>/outcomes", "Record the outcome of an alarm, or a missed one", body=TellOutcome
    )
    def tell_outcome(scope: Scope, speaker: Speaker, body: TellOutcome, skill_id: str) -> ToldOutcome:
        book_skill.get_skill(scope, skill_id)
        if answer_meaning(body.value) == "other":
            raise InvalidError("say `real`, `false alarm`, `too late` or `missed`, or words with one of these in them")
        if body.run_id is not None:
            run = runs.find_run(scope, body.run_id)
            if run is None or run.skill_id != skill_id:
                raise NotFoundError(f"{skill_id} has no run {body.run_id}")
        outcomes.record_outcome(
            scope,
            skill_id=skill_id,
            run_id=body.run_id,
            kind=TOLD_KIND,
            value=body.value,
            by=speaker.person_id,
            cause=f"told:{scope.ids.new('outcome')}",
            facts={"text": body.text},
        )
        return {"skill_id": skill_id, "run_id": body.run_id, "value": body.value}

    return endpoints

"""Skills: what serves, from which file, how it did, and what a person may do to it."""

from __future__ import annotations

from typing import Any

from flask import request
from pydantic import Field
from typing_extensions import TypedDict

from app.web import paging
from app.web.api.messages import Taken
from app.web.bodies import Body
from app.web.endpoints import Door
from app.web.parts import WebParts
from app.web.presenters.skill import SkillShape, SkillVersion, skill_shape, version_shape
from app.web.presenters.skill_account import SkillAccount, compared, skill_account, wish
from app.web.speaking import only_a_person
from core.database import Scope
from core.errors import ConflictError, InvalidError
from core.identity import Speaker
from core.orchestrator.engine import Engine
from runtime import messages
from skills import book, control, versions
from skills.invoking import chosen, event_name


class Rollback(Body):
    """`version` is the number to go back to; left out, the version that served before."""

    version: int | None = Field(None, ge=1)


class Wish(Body):
    """`text` says what should change; left out, the agent is asked to repair what is wrong with it."""

    text: str = Field("", max_length=20_000)
    client_id: str | None = Field(None, min_length=1, max_length=200)


class Invoke(Body):
    """`data` becomes the event's data; `function` is needed where the skill has several."""

    data: dict[str, Any] = Field(default_factory=dict)
    function: str | None = Field(None, max_length=128)


class SkillVersionInFull(SkillVersion):
    """`diff` says what it changed of the version `against`, or of nothing where that is null."""

    source: str
    against: int | None
    diff: str


class Invoked(TypedDict):
    event_id: str


def skills_api(parts: WebParts) -> Door:
    door = Door(parts, "skills_api")

    @door.reads("/api/v1/skills", "Skills: what serves, from which file, with which problems")
    def list_skills(scope: Scope, speaker: Speaker) -> paging.Listed[SkillShape]:
        return {"items": [skill_shape(scope, skill) for skill in book.listing(scope)], "next": None}

    @door.reads("/api/v1/skills/<skill_id>", "A skill with its versions, permissions, runs and days")
    def get_skill(scope: Scope, speaker: Speaker, skill_id: str) -> SkillAccount:
        return skill_account(scope, book.get(scope, skill_id))

    @door.reads("/api/v1/skills/<skill_id>/versions", "Its versions, newest first: who wrote each, and why")
    def list_versions(scope: Scope, speaker: Speaker, skill_id: str) -> paging.Listed[SkillVersion]:
        book.get(scope, skill_id)
        return {"items": [version_shape(scope, one) for one in versions.listing(scope, skill_id)], "next": None}

    @door.reads(
        "/api/v1/skills/<skill_id>/versions/<number>",
        "One version with its source and what it changed",
        query={"against": "the number of the version that `diff` compares it with, else what it was made of"},
    )
    def get_version(scope: Scope, speaker: Speaker, skill_id: str, number: str) -> SkillVersionInFull:
        version = versions.by_number(scope, skill_id, _number(number))
        against = request.args.get("against")
        before = compared(scope, version, None if against is None else _number(against))
        return {
            **version_shape(scope, version),
            "source": version.source,
            "against": before.number if before is not None else None,
            "diff": versions.diff(before, version),
        }

    _commands(door)
    _invoke(door, Engine.of(parts.settings))
    return door


def _commands(door: Door) -> None:
    path = "/api/v1/skills/<skill_id>"

    @door.acts(f"{path}/enable", "Let it serve; what it asks for is asked on a card first")
    def enable_skill(scope: Scope, speaker: Speaker, body: object, skill_id: str) -> SkillShape:
        return skill_shape(scope, control.enable(scope, skill_id, _person(speaker)))

    @door.acts(f"{path}/disable", "No new runs; those that began go on")
    def disable_skill(scope: Scope, speaker: Speaker, body: object, skill_id: str) -> SkillShape:
        return skill_shape(scope, control.disable(scope, skill_id, speaker.person_id))

    @door.acts(f"{path}/rollback", "Serve an earlier version again", body=Rollback)
    def rollback_skill(scope: Scope, speaker: Speaker, body: Rollback, skill_id: str) -> SkillShape:
        return skill_shape(scope, control.rollback(scope, skill_id, _person(speaker), body.version))

    @door.acts(f"{path}/ask", "Ask the agent to change or repair it", body=Wish, status=202)
    def ask_agent(scope: Scope, speaker: Speaker, body: Wish, skill_id: str) -> Taken:
        skill = book.get(scope, skill_id)
        text = body.text.strip() or wish(scope, skill)
        if not text:
            raise InvalidError(f"nothing is wrong with {skill_id}: say what should change")
        message = messages.receive(
            scope,
            person_id=speaker.person_id,
            asked_by=speaker.speaks_as,
            channel_id=None,
            text=text if skill_id in text else f"The skill {skill_id}: {text}",
            client_id=body.client_id,
        )
        return {"message_id": message.id, "state": message.state}

    @door.acts(path, "Take it away for good, with its file", method="DELETE")
    def delete_skill(scope: Scope, speaker: Speaker, body: object, skill_id: str) -> SkillShape:
        return skill_shape(scope, control.delete(scope, skill_id, _person(speaker)))


def _invoke(door: Door, engine: Engine) -> None:
    def send(speaker: Speaker, body: Invoke, skill_id: str) -> str:
        with door.parts.database.reading(speaker.workspace_id) as scope:
            skill = book.get(scope, skill_id)
            if not skill.serves or skill.version_id is None:
                raise ConflictError(f"{skill_id} is {skill.status}: no run of it can begin", status=skill.status)
            function = chosen(versions.get(scope, skill.version_id), body.function)
        # The engine names an event that we do not; a key that is sent again is answered before this.
        [event_id] = engine.send_all([{"name": event_name(skill_id, function), "data": body.data}])
        return event_id

    @door.acts(
        "/api/v1/skills/<skill_id>/invoke",
        "Begin a run of it now, whatever its triggers",
        body=Invoke,
        prepare=send,
        status=202,
    )
    def invoke_skill(scope: Scope, speaker: Speaker, sent: str, skill_id: str) -> Invoked:
        return {"event_id": sent}


def _person(speaker: Speaker) -> str:
    """What widens or ends a skill is a person's word; a program's key may only turn one off."""
    only_a_person(speaker, "do this to a skill")
    return speaker.person_id


def _number(raw: str) -> int:
    if not (raw.isascii() and raw.isdigit() and len(raw) < 9):
        raise InvalidError("a version is named by its number")
    return int(raw)

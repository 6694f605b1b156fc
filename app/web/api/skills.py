"""Skills, as the sidecar of this home last told them."""

from __future__ import annotations

from typing import Any

from flask import Response, jsonify

from app.web.endpoints import Door
from app.web.parts import WebParts
from core.errors import NotFoundError, UnavailableError
from core.identity import Speaker
from sidecar.state import read_state

RUNS_SHOWN = 5


def skills_api(parts: WebParts) -> Door:
    door = Door(parts, "skills_api")

    def list_skills(speaker: Speaker) -> Response:
        return jsonify({"items": read_state(parts.settings.home), "next": None})

    def get_skill(speaker: Speaker, skill_id: str) -> Response:
        for skill in read_state(parts.settings.home):
            if skill["id"] == skill_id:
                return jsonify({**skill, "runs": _runs(parts, skill)})
        raise NotFoundError(f"no skill {skill_id[:80]} here")

    door.serves("GET", "/api/v1/skills", "Skills: what serves, from which file, with which problems", scope="read")(
        list_skills, "list_skills"
    )
    door.serves("GET", "/api/v1/skills/<skill_id>", "A skill with its last runs", scope="read")(get_skill, "get_skill")
    return door


def _runs(parts: WebParts, skill: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for function in skill["functions"]:
        try:
            page = parts.runs.list(function=f"{function['app']}/{function['id']}")
        except UnavailableError:
            # What a skill is stays true while the engine is away.
            return []
        found += page["items"][:RUNS_SHOWN]
    return found

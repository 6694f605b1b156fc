"""The sidecar's addresses: one serve path for each skill, behind the engine's door."""

from __future__ import annotations

from typing import TYPE_CHECKING

import flask

from core.clock import Clock
from core.errors import LoopwrightError
from core.orchestrator.engine import Engine
from core.orchestrator.health import add_health
from core.orchestrator.middleware import CALLERS_KEY, SERVE_PATH, EngineCallMiddleware
from core.orchestrator.signature import SIGNATURE_HEADER, sign_body
from sidecar.call import answer, refusal, turned_away
from sidecar.places import Places
from sidecar.replies import Reply
from sidecar.shelf import Shelf
from sidecar.skill import Skill

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication


def create_app(shelf: Shelf, engine: Engine, clock: Clock) -> WSGIApplication:
    app, places = flask.Flask(__name__), Places()
    add_health(app, shelf.registration)

    @app.route(f"{SERVE_PATH}/<stem>", methods=["GET", "POST", "PUT"])
    def serve(stem: str) -> flask.Response:
        skill = shelf.skill(stem)
        reply = _reply(skill, stem) if skill is not None else refusal(404, "no_skill", f"there is no skill {stem}")
        response = flask.Response(reply.body, reply.status, dict(reply.headers))
        if (key := flask.request.environ.get(CALLERS_KEY)) is not None:
            response.headers[SIGNATURE_HEADER] = sign_body(key, reply.body, clock.now())
        return response

    def _reply(skill: Skill, stem: str) -> Reply:
        request = flask.request
        match request.method:
            case "PUT":
                return _registered(skill)
            case "POST" if request.args.get("probe") != "trust":
                with places.taken(stem) as has_place:
                    return _answered(skill, stem) if has_place else _busy(skill)
            case "GET":
                return _introspected(skill, engine)
            case _:
                return Reply(200, b"")

    def _answered(skill: Skill, stem: str) -> Reply:
        request = flask.request
        headers = {name.lower(): value for name, value in request.headers.items()}
        query = request.query_string.decode("latin-1")
        return answer(skill, engine, f"{SERVE_PATH}/{stem}", query, request.get_data(), headers)

    def _busy(skill: Skill) -> Reply:
        return turned_away(skill, flask.request.query_string.decode("latin-1"), flask.request.get_data())

    return EngineCallMiddleware(app, engine, clock)


def _registered(skill: Skill) -> Reply:
    """An engine that knows our address asks us to register."""
    try:
        skill.register(asked=True)
    except LoopwrightError as error:
        return refusal(500, "registration_failed", str(error))
    return _json({"ok": True})


def _introspected(skill: Skill, engine: Engine) -> Reply:
    serving = skill.serving
    return _json(
        {
            "schema_version": "2024-05-24",
            "function_count": len(serving.functions) if serving else 0,
            "has_event_key": True,
            "has_signing_key": engine.keyed,
            "has_signing_key_fallback": len(engine.signing_keys) > 1,
            "mode": "cloud" if engine.keyed else "dev",
        }
    )


def _json(value: object) -> Reply:
    return Reply(200, flask.json.dumps(value).encode(), {"content-type": "application/json"})

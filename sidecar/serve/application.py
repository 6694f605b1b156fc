"""Web application of the sidecar: one serve path for each skill, open to the engine only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import flask

from core.clock import Clock
from core.errors import LoopwrightError
from core.orchestrator.engine import Engine
from core.orchestrator.health import add_health
from core.orchestrator.middleware import CALLERS_KEY, SERVE_PATH, EngineCallMiddleware
from core.orchestrator.signature import SIGNATURE_HEADER, sign_body
from sidecar.protocol.call_slots import CallSlots
from sidecar.protocol.replies import EngineReply
from sidecar.rollout.served_skill import ServedSkill
from sidecar.serve.call import answer_engine_call, refuse_call, turn_away_call
from sidecar.serve.registry import SkillRegistry

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication


def create_app(registry: SkillRegistry, engine: Engine, clock: Clock) -> WSGIApplication:
    """Build the application; the engine's calls are checked by its signature."""
    app, slots = flask.Flask(__name__), CallSlots()
    add_health(app, registry.registration)

    @app.route(f"{SERVE_PATH}/<stem>", methods=["GET", "POST", "PUT"])
    def serve(stem: str) -> flask.Response:
        skill = registry.skill(stem)
        reply = _reply(skill, stem) if skill is not None else refuse_call(404, "no_skill", f"there is no skill {stem}")
        response = flask.Response(reply.body, reply.status, dict(reply.headers))
        if (key := flask.request.environ.get(CALLERS_KEY)) is not None:
            response.headers[SIGNATURE_HEADER] = sign_body(key, reply.body, clock.now())
        return response

    def _reply(skill: ServedSkill, stem: str) -> EngineReply:
        request = flask.request
        match request.method:
            case "PUT":
                return _register_skill(skill)
            case "POST" if request.args.get("probe") != "trust":
                with slots.hold(stem) as has_slot:
                    return _answer(skill, stem) if has_slot else _turn_away(skill)
            case "GET":
                return _describe_skill(skill, engine)
            case _:
                return EngineReply(200, b"")

    def _answer(skill: ServedSkill, stem: str) -> EngineReply:
        request = flask.request
        headers = {name.lower(): value for name, value in request.headers.items()}
        query = request.query_string.decode("latin-1")
        return answer_engine_call(skill, engine, f"{SERVE_PATH}/{stem}", query, request.get_data(), headers)

    def _turn_away(skill: ServedSkill) -> EngineReply:
        return turn_away_call(skill, flask.request.query_string.decode("latin-1"), flask.request.get_data())

    return EngineCallMiddleware(app, engine, clock)


def _register_skill(skill: ServedSkill) -> EngineReply:
    """Register the skill because the engine asks for it, as the SDK's PUT does."""
    try:
        skill.register(requested=True)
    except LoopwrightError as error:
        return refuse_call(500, "registration_failed", str(error))
    return _json_reply({"ok": True})


def _describe_skill(skill: ServedSkill, engine: Engine) -> EngineReply:
    """Describe the app to the engine as the SDK's GET does."""
    serving = skill.serving
    return _json_reply(
        {
            "schema_version": "2024-05-24",
            "function_count": len(serving.functions) if serving else 0,
            "has_event_key": True,
            "has_signing_key": engine.keyed,
            "has_signing_key_fallback": len(engine.signing_keys) > 1,
            "mode": "cloud" if engine.keyed else "dev",
        }
    )


def _json_reply(value: object) -> EngineReply:
    return EngineReply(200, flask.json.dumps(value).encode(), {"content-type": "application/json"})

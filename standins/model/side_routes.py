"""Routes beside the chat: the page, health, the log, and (in tests) faults and replay."""

from __future__ import annotations

from typing import TypeVar

from flask import Blueprint, Response, jsonify, request
from pydantic import BaseModel, ValidationError

from standins.model import faults, replay, request_log
from standins.model.config import ModelConfig
from standins.model.door import require_loopback
from standins.model.problems import ModelProblem
from standins.store import StandinStore

MODEL_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Model: offline stand-in</title>
<style>body { font: 16px/1.5 system-ui, sans-serif; max-width: 42rem; margin: 3rem auto; padding: 0 1rem }</style>
<h1>Model <small>(offline stand-in)</small></h1>
<p>No language model answers here. This server follows rules, so that the product can be tried and tested without a
network. It understands simple wishes in English and French, and it sees only what it is sent.</p>
<p>It speaks Chat Completions at <code>/v1/chat/completions</code>; <code>GET /log</code> shows every request with its
answer. To use a real model, set <code>OPENAI_API_KEY</code>, <code>LOOPWRIGHT_MODEL</code> and, for other providers,
<code>OPENAI_BASE_URL</code>.</p>
</html>
"""


Shape = TypeVar("Shape", bound=BaseModel)


def side_routes(config: ModelConfig, store: StandinStore) -> Blueprint:
    """Make GET /, /healthz and /log, and with `config.faults` also /faults and /replay."""
    routes = Blueprint("desk", __name__)

    @routes.get("/")
    def page() -> str:
        return MODEL_PAGE

    @routes.get("/healthz")
    def health() -> Response:
        return jsonify({"ok": True})

    @routes.get("/log")
    def log() -> Response:
        require_loopback(request, config.key)
        with store.read() as db:
            return jsonify({"items": request_log.list_requests(db)})

    if config.faults:
        _add_faults(routes, config, store)
        _add_replay(routes, config, store)
    return routes


def _add_faults(routes: Blueprint, config: ModelConfig, store: StandinStore) -> None:
    @routes.post("/faults")
    def order_fault() -> Response:
        require_loopback(request, config.key)
        with store.begin() as db:
            faults.order_model_fault(db, _read(faults.ModelFaultOrder))
            return jsonify({"items": faults.list_model_faults(db)})

    @routes.get("/faults")
    def list_faults() -> Response:
        require_loopback(request, config.key)
        with store.read() as db:
            return jsonify({"items": faults.list_model_faults(db)})

    @routes.delete("/faults")
    def clear_faults() -> Response:
        require_loopback(request, config.key)
        with store.begin() as db:
            faults.clear_model_faults(db)
        return jsonify({"items": []})


def _add_replay(routes: Blueprint, config: ModelConfig, store: StandinStore) -> None:
    @routes.post("/replay")
    def begin_replay() -> Response:
        require_loopback(request, config.key)
        with store.begin() as db:
            replay.begin_replay(db, _read(replay.AnswerRecording))
            return jsonify(replay.replay_status(db))

    @routes.get("/replay")
    def tell_replay() -> Response:
        require_loopback(request, config.key)
        with store.read() as db:
            return jsonify(replay.replay_status(db))

    @routes.delete("/replay")
    def stop_replay() -> Response:
        require_loopback(request, config.key)
        with store.begin() as db:
            replay.stop_replay(db)
            return jsonify(replay.replay_status(db))


def _read(shape: type[Shape]) -> Shape:
    try:
        return shape.model_validate_json(request.get_data())
    except ValidationError as error:
        raise ModelProblem(422, "invalid_order", "; ".join(item["msg"] for item in error.errors())) from error

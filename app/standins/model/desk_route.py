"""Everything beside the chat: the page, health, the log, and (in tests) faults and replay."""

from __future__ import annotations

from typing import TypeVar

from flask import Blueprint, Response, jsonify, request
from pydantic import BaseModel, ValidationError

from app.standins.model import faults, replay, request_log
from app.standins.model.config import ModelConfig
from app.standins.model.door import require_loopback
from app.standins.model.page import PAGE
from app.standins.model.problems import Problem
from app.standins.store import Store

Shape = TypeVar("Shape", bound=BaseModel)


def desk_routes(config: ModelConfig, store: Store) -> Blueprint:
    """GET /, /healthz, /log; and /faults and /replay when the server is made with faults."""
    routes = Blueprint("desk", __name__)

    @routes.get("/")
    def page() -> str:
        return PAGE

    @routes.get("/healthz")
    def health() -> Response:
        return jsonify({"ok": True})

    @routes.get("/log")
    def log() -> Response:
        require_loopback(request, config.key)
        with store.read() as db:
            return jsonify({"items": request_log.listing(db)})

    if config.faults:
        _add_faults(routes, config, store)
        _add_replay(routes, config, store)
    return routes


def _add_faults(routes: Blueprint, config: ModelConfig, store: Store) -> None:
    @routes.post("/faults")
    def order_fault() -> Response:
        require_loopback(request, config.key)
        with store.begin() as db:
            faults.order(db, _read(faults.FaultOrder))
            return jsonify({"items": faults.listing(db)})

    @routes.get("/faults")
    def list_faults() -> Response:
        require_loopback(request, config.key)
        with store.read() as db:
            return jsonify({"items": faults.listing(db)})

    @routes.delete("/faults")
    def clear_faults() -> Response:
        require_loopback(request, config.key)
        with store.begin() as db:
            faults.clear(db)
        return jsonify({"items": []})


def _add_replay(routes: Blueprint, config: ModelConfig, store: Store) -> None:
    @routes.post("/replay")
    def begin_replay() -> Response:
        require_loopback(request, config.key)
        with store.begin() as db:
            replay.load(db, _read(replay.Recording))
            return jsonify(replay.status(db))

    @routes.get("/replay")
    def tell_replay() -> Response:
        require_loopback(request, config.key)
        with store.read() as db:
            return jsonify(replay.status(db))

    @routes.delete("/replay")
    def stop_replay() -> Response:
        require_loopback(request, config.key)
        with store.begin() as db:
            replay.stop(db)
            return jsonify(replay.status(db))


def _read(shape: type[Shape]) -> Shape:
    try:
        return shape.model_validate_json(request.get_data())
    except ValidationError as error:
        raise Problem(422, "invalid_order", "; ".join(item["msg"] for item in error.errors())) from error

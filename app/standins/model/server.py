"""The stand-in model as a web application."""

from __future__ import annotations

from flask import Flask, Response
from werkzeug.exceptions import HTTPException

from app.standins.model.chat_route import chat_routes
from app.standins.model.config import ModelConfig
from app.standins.model.desk_route import desk_routes
from app.standins.model.problems import Problem
from app.standins.model.store import open_store
from app.standins.store import Store
from core.settings import Settings

MOST_BODY_BYTES = 16 * 1024 * 1024


def create_app(config: ModelConfig) -> Flask:
    """The stand-in of one folder; its log goes on where the last process left it."""
    store = open_store(config.folder)
    app = Flask("standin-model", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = MOST_BODY_BYTES
    app.extensions["model"] = store
    app.register_blueprint(chat_routes(config, store))
    app.register_blueprint(desk_routes(config, store))
    app.register_error_handler(Problem, lambda problem: problem.response())
    app.register_error_handler(HTTPException, _http_problem)
    return app


def close(app: Flask) -> None:
    """Let go of the log of an application that `create_app` made."""
    store: Store = app.extensions["model"]
    store.close()


def serve(settings: Settings) -> Flask:
    """The stand-in of a running product: no key, so this machine alone."""
    return create_app(ModelConfig(folder=settings.home / "model"))


def _http_problem(error: HTTPException) -> Response:
    return Problem(
        error.code or 500, (error.name or "error").lower().replace(" ", "_"), error.description or ""
    ).response()

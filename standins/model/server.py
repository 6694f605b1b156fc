"""The stand-in model as a web application."""

from __future__ import annotations

from pathlib import Path

from flask import Flask, Response
from werkzeug.exceptions import HTTPException

from core.settings import Settings
from standins.model.chat_routes import chat_routes
from standins.model.config import ModelConfig
from standins.model.problems import ModelProblem
from standins.model.side_routes import side_routes
from standins.store import StandinStore

SCHEMA = """
CREATE TABLE IF NOT EXISTS requests (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL,
    request TEXT NOT NULL,
    answer TEXT
);
CREATE TABLE IF NOT EXISTS faults (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    argument TEXT NOT NULL,
    times INTEGER NOT NULL,
    thread TEXT
);
CREATE TABLE IF NOT EXISTS recordings (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    match TEXT NOT NULL,
    given INTEGER NOT NULL,
    unexpected INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS recorded_answers (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    recording INTEGER NOT NULL,
    answer TEXT NOT NULL
);
"""


def open_store(folder: Path) -> StandinStore:
    return StandinStore(folder / "model.sqlite", SCHEMA)


MOST_BODY_BYTES = 16 * 1024 * 1024


def create_app(config: ModelConfig) -> Flask:
    """Make the stand-in of one folder; its log continues that of earlier processes."""
    store = open_store(config.folder)
    app = Flask("standin-model", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = MOST_BODY_BYTES
    app.extensions["model"] = store
    app.register_blueprint(chat_routes(config, store))
    app.register_blueprint(side_routes(config, store))
    app.register_error_handler(ModelProblem, lambda problem: problem.response())
    app.register_error_handler(HTTPException, _http_problem)
    return app


def close(app: Flask) -> None:
    """Close the log of an application that `create_app` made."""
    store: StandinStore = app.extensions["model"]
    store.close()


def serve(settings: Settings) -> Flask:
    """Make the stand-in of a running product. It has no key, so it answers only this machine."""
    return create_app(ModelConfig(folder=settings.home / "model"))


def _http_problem(error: HTTPException) -> Response:
    return ModelProblem(
        error.code or 500, (error.name or "error").lower().replace(" ", "_"), error.description or ""
    ).response()

"""The studio as a web application: `create_app` makes it and starts its threads. One process per folder."""

import sqlite3

from flask import Flask, Response
from werkzeug.exceptions import HTTPException

from app.standins.studio.blobs import Blobs
from app.standins.studio.callbacks import Courier
from app.standins.studio.config import StudioConfig
from app.standins.studio.fault_routes import fault_routes
from app.standins.studio.job_routes import job_routes
from app.standins.studio.problems import Problem
from app.standins.studio.store import open_store
from app.standins.studio.studio_routes import studio_routes
from app.standins.studio.workshop import Workshop

MOST_BODY_BYTES = 72 * 1024 * 1024

__all__ = ["StudioConfig", "close", "create_app"]


def create_app(config: StudioConfig) -> Flask:
    """The studio of one folder, at work: what a killed process left there is taken up again."""
    store = open_store(config.folder)
    kept, made = Blobs(config.folder / "inputs"), Blobs(config.folder / "outputs")
    kept.sweep()
    made.sweep()
    courier = Courier(store, config)
    workshop = Workshop(store, config, courier, kept, made)
    app = Flask("studio", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = MOST_BODY_BYTES
    app.extensions["studio"] = (workshop, courier, store)
    app.register_blueprint(job_routes(config, store, workshop, courier, kept))
    app.register_blueprint(studio_routes(config, store, made))
    if config.faults:
        app.register_blueprint(fault_routes(config, store))
    app.register_error_handler(Problem, lambda problem: problem.response())
    app.register_error_handler(HTTPException, _http_problem)
    app.register_error_handler(sqlite3.OperationalError, _store_problem)
    courier.start()
    workshop.start()
    return app


def close(app: Flask) -> None:
    """End the threads of an application that `create_app` made."""
    workshop, courier, store = app.extensions["studio"]
    workshop.stop()
    courier.stop()
    store.close()


def _http_problem(error: HTTPException) -> Response:
    status = error.code or 500
    return Problem(status, (error.name or "error").lower().replace(" ", "_"), error.description or "").response()


def _store_problem(error: sqlite3.OperationalError) -> Response:
    """The store cannot be used now: nothing was recorded, so the same call under the same key may be made again."""
    return Problem(503, "store_unavailable", f"the studio's database: {error}", {"Retry-After": "1"}).response()

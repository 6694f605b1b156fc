"""The studio as a web application: `create_app` makes it and starts its threads. One process per folder."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from flask import Flask, Response
from werkzeug.exceptions import HTTPException

from standins.store import StandinStore
from standins.studio.blobs import Blobs
from standins.studio.callbacks import Courier
from standins.studio.config import StudioConfig
from standins.studio.fault_routes import fault_routes
from standins.studio.job_routes import job_routes
from standins.studio.problems import StudioProblem
from standins.studio.studio_routes import studio_routes
from standins.studio.workshop import Workshop

SCHEMA = """
CREATE TABLE IF NOT EXISTS jobs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    idempotency_key TEXT NOT NULL UNIQUE,
    digest TEXT NOT NULL,
    kind TEXT NOT NULL,
    request TEXT NOT NULL,
    state TEXT NOT NULL,
    progress REAL NOT NULL DEFAULT 0,
    outputs TEXT NOT NULL DEFAULT '[]',
    amount TEXT,
    error TEXT,
    faults TEXT NOT NULL DEFAULT '[]',
    claimed INTEGER NOT NULL DEFAULT 0,
    starts INTEGER NOT NULL DEFAULT 0,
    sequence INTEGER NOT NULL DEFAULT 0,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS jobs_by_state ON jobs (state, number);
CREATE TABLE IF NOT EXISTS bill (
    job_id TEXT PRIMARY KEY REFERENCES jobs (id),
    idempotency_key TEXT NOT NULL,
    kind TEXT NOT NULL,
    amount TEXT NOT NULL,
    currency TEXT NOT NULL,
    at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS outputs (sha256 TEXT PRIMARY KEY, media_type TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS callbacks (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id TEXT NOT NULL,
    url TEXT NOT NULL,
    body TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    next_at REAL NOT NULL DEFAULT 0,
    state TEXT NOT NULL DEFAULT 'pending'
);
CREATE INDEX IF NOT EXISTS callbacks_by_state ON callbacks (state, next_at, number);
CREATE TABLE IF NOT EXISTS faults (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    argument TEXT NOT NULL,
    times_left INTEGER,
    kind TEXT
);
"""


def open_store(folder: Path) -> StandinStore:
    return StandinStore(folder / "studio.sqlite", SCHEMA)


MOST_BODY_BYTES = 72 * 1024 * 1024

__all__ = ["StudioConfig", "close", "create_app"]


def create_app(config: StudioConfig) -> Flask:
    """Make the studio of one folder and start its threads, which also make what a killed process left there."""
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
    app.register_error_handler(StudioProblem, lambda problem: problem.response())
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
    return StudioProblem(status, (error.name or "error").lower().replace(" ", "_"), error.description or "").response()


def _store_problem(error: sqlite3.OperationalError) -> Response:
    """Answer that the store cannot be used: nothing was stored, so the call may be repeated with the same key."""
    return StudioProblem(503, "store_unavailable", f"the studio's database: {error}", {"Retry-After": "1"}).response()

"""Health and readiness endpoints of a process that serves functions."""

from __future__ import annotations

import flask

from core.orchestrator.registration import Registration


def add_health(app: flask.Flask, registration: Registration) -> None:
    """Add `/healthz`, ok while the process answers, and `/readyz`, ok once the engine knows its apps."""

    @app.get("/healthz")
    def healthz() -> flask.Response:
        return flask.jsonify(ok=True)

    @app.get("/readyz")
    def readyz() -> tuple[flask.Response, int]:
        ready = registration.settled.is_set()
        return flask.jsonify(ok=ready), 200 if ready else 503

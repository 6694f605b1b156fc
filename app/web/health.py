"""Whether this process lives and can do its work. Open to everybody: both say ok or not ok, and no more."""

from __future__ import annotations

from flask import Blueprint, Response, jsonify
from sqlalchemy.exc import SQLAlchemyError

from app.web.parts import WebParts


def health(parts: WebParts) -> Blueprint:
    blueprint = Blueprint("health", __name__)

    @blueprint.get("/healthz")
    def healthz() -> Response:
        return jsonify(status="ok")

    @blueprint.get("/readyz")
    def readyz() -> Response:
        try:
            parts.database.workspace_ids()
        except SQLAlchemyError:
            answer = jsonify(status="not ok")
            answer.status_code = 503
            return answer
        return jsonify(status="ok")

    return blueprint

"""The studio's other calls: what it is, what it offers, what it made, what it charged."""

from flask import Blueprint, Response, jsonify, request, send_file

from app.standins.store import Store
from app.standins.studio import ledger
from app.standins.studio.blobs import Blobs
from app.standins.studio.catalog import OFFERS
from app.standins.studio.config import StudioConfig
from app.standins.studio.door import require_key, require_loopback
from app.standins.studio.page import studio_page
from app.standins.studio.problems import Problem


def studio_routes(config: StudioConfig, store: Store, made: Blobs) -> Blueprint:
    """GET /, /healthz, /models, /outputs/{sha256} and /bill."""
    routes = Blueprint("studio", __name__)

    @routes.get("/")
    def page() -> str:
        return studio_page()

    @routes.get("/healthz")
    def health() -> Response:
        return jsonify({"ok": True})

    @routes.get("/models")
    def models() -> Response:
        require_key(request, config.jobs_key)
        return jsonify({"models": [offer.view() for offer in OFFERS], "standin": True})

    @routes.get("/outputs/<sha256>")
    def output(sha256: str) -> Response:
        require_key(request, config.jobs_key)
        path = made.path(sha256)
        with store.read() as db:
            media_type = ledger.output_type(db, sha256)
        if path is None or media_type is None:
            raise Problem(404, "not_found", "no output has this hash")
        answer = send_file(path, mimetype=media_type, conditional=True, etag=sha256)
        answer.headers["Cache-Control"] = "private, max-age=31536000, immutable"
        answer.headers["X-Content-Type-Options"] = "nosniff"
        return answer

    @routes.get("/bill")
    def bill() -> Response:
        require_loopback(request, config.jobs_key)
        with store.read() as db:
            return jsonify({"items": ledger.bill(db), "standin": True})

    return routes

"""Routes beside jobs: the page, health, models, outputs and the bill."""

from __future__ import annotations

from html import escape

from flask import Blueprint, Response, jsonify, request, send_file

from standins.store import StandinStore
from standins.studio import ledger
from standins.studio.blobs import Blobs
from standins.studio.catalog import OFFERS
from standins.studio.config import StudioConfig
from standins.studio.door import require_key, require_loopback
from standins.studio.job import CURRENCY
from standins.studio.problems import StudioProblem

_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Generation studio: offline stand-in</title>
<style>body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 42rem; margin: 3rem auto; padding: 0 1rem }}
td, th {{ text-align: left; padding: .2rem 1rem .2rem 0 }}</style>
<h1>Generation studio <small>(offline stand-in)</small></h1>
<p>This server draws, films, composes and shapes by rule. No model made its pictures, nothing leaves this machine, and
its prices are play money. It speaks the generation jobs protocol; <code>GET /models</code> says what it can make.</p>
<table><tr><th>model</th><th>makes</th><th>price</th></tr>{rows}</table></html>
"""


def studio_page() -> str:
    """HTML that says what this server is."""
    rows = "".join(
        f"<tr><td><code>{escape(offer.id)}</code></td><td>{escape(offer.kind)}</td>"
        f"<td>{offer.price} {CURRENCY} per {offer.per}</td></tr>"
        for offer in OFFERS
    )
    return _PAGE.format(rows=rows)


def studio_routes(config: StudioConfig, store: StandinStore, made: Blobs) -> Blueprint:
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
            raise StudioProblem(404, "not_found", "no output has this hash")
        answer = send_file(path, mimetype=media_type, conditional=True, etag=sha256)
        answer.headers["Cache-Control"] = "private, max-age=31536000, immutable"
        answer.headers["X-Content-Type-Options"] = "nosniff"
        return answer

    @routes.get("/bill")
    def bill() -> Response:
        require_loopback(request, config.jobs_key)
        with store.read() as db:
            return jsonify({"items": ledger.list_charges(db), "standin": True})

    return routes

"""The routes that a signature opens instead of a key: providers' callbacks, and bytes for providers."""

from __future__ import annotations

from flask import Blueprint, Response, jsonify, request
from typing_extensions import TypedDict

from app.asset_addresses import AssetAddresses
from app.web.parts import WebParts
from core.errors import RefusedError
from generation.execution.callbacks import record_callback


class TakenNews(TypedDict):
    """The generation that the news was of, as it stands now."""

    id: str
    state: str


def open_doors(parts: WebParts, addresses: AssetAddresses) -> Blueprint:
    blueprint = Blueprint("open_doors", __name__)

    @blueprint.post("/api/v1/generations/callbacks/<provider>")
    def callback(provider: str) -> Response:
        order = record_callback(parts, provider, dict(request.headers), request.get_data(cache=False))
        return jsonify(TakenNews(id=order.id, state=order.state))

    @blueprint.get("/api/v1/assets/<sha256>")
    def asset(sha256: str) -> Response:
        expiry, signature = request.args.get("exp", ""), request.args.get("sig", "")
        if not signature or not expiry.isascii() or not expiry.isdigit():
            raise RefusedError("an address of bytes needs `exp` and `sig`")
        addresses.check(sha256, expiry, signature, parts.clock.now())
        answer = Response(parts.assets.chunks(sha256), content_type="application/octet-stream")
        answer.headers["Content-Disposition"] = "attachment"
        answer.headers["X-Content-Type-Options"] = "nosniff"
        answer.headers["Cache-Control"] = "private, no-store"
        return answer

    return blueprint

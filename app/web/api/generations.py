"""Generations: show and cancel an order, and the signed routes for providers."""

from __future__ import annotations

from flask import Blueprint, Response, jsonify, request
from typing_extensions import TypedDict

from app.asset_addresses import AssetAddresses
from app.web.http.dependencies import WebDependencies
from app.web.http.endpoints import Endpoints
from app.web.http.inputs import Body
from app.web.presenters.generation import GenerationShape, generation_by_id
from core.database import Scope
from core.errors import RefusedError
from core.identity import Speaker
from generation.execution.callbacks import record_callback
from generation.orders import end as order_end


def generations_api(dependencies: WebDependencies) -> Endpoints:
    endpoints = Endpoints(dependencies, "generations_api")

    @endpoints.reads("/api/v1/generations/<order_id>", "An order, its progress and what came of it")
    def get_generation(scope: Scope, speaker: Speaker, order_id: str) -> GenerationShape:
        return generation_by_id(scope, order_id)

    @endpoints.acts("/api/v1/generations/<order_id>/cancel", "Request its cancellation; the provider may be too late")
    def cancel_generation(scope: Scope, speaker: Speaker, body: Body, order_id: str) -> GenerationShape:
        order_end.cancel_order(scope, order_id)
        return generation_by_id(scope, order_id)

    return endpoints


class TakenNews(TypedDict):
    """The generation that a callback was about, and its state now."""

    id: str
    state: str


def signed_routes(dependencies: WebDependencies, addresses: AssetAddresses) -> Blueprint:
    """Make the routes that need a signature instead of a key: a provider's callbacks and its inputs' bytes."""
    blueprint = Blueprint("open_doors", __name__)

    @blueprint.post("/api/v1/generations/callbacks/<provider>")
    def callback(provider: str) -> Response:
        order = record_callback(dependencies, provider, dict(request.headers), request.get_data(cache=False))
        return jsonify(TakenNews(id=order.id, state=order.state))

    @blueprint.get("/api/v1/assets/<sha256>")
    def asset(sha256: str) -> Response:
        expiry, signature = request.args.get("exp", ""), request.args.get("sig", "")
        if not signature or not expiry.isascii() or not expiry.isdigit():
            raise RefusedError("an address of bytes needs `exp` and `sig`")
        addresses.check(sha256, expiry, signature, dependencies.clock.now())
        answer = Response(dependencies.assets.chunks(sha256), content_type="application/octet-stream")
        answer.headers["Content-Disposition"] = "attachment"
        answer.headers["X-Content-Type-Options"] = "nosniff"
        answer.headers["Cache-Control"] = "private, no-store"
        return answer

    return blueprint

"""The calls by which a test tells the studio to go wrong. Served only by a studio made with `faults=True`."""

from flask import Blueprint, Response, jsonify, request
from pydantic import ValidationError

from app.standins.store import Store
from app.standins.studio import faults
from app.standins.studio.config import StudioConfig
from app.standins.studio.door import require_loopback
from app.standins.studio.problems import Problem


def fault_routes(config: StudioConfig, store: Store) -> Blueprint:
    """POST /faults orders a fault, GET lists those to come, DELETE forgets them; on loopback without a key."""
    routes = Blueprint("faults", __name__)

    @routes.before_request
    def check_loopback() -> None:
        require_loopback(request, config.jobs_key)

    @routes.post("/faults")
    def order_fault() -> Response:
        try:
            wanted = faults.FaultOrder.model_validate_json(request.get_data())
        except ValidationError as error:
            raise Problem(422, "invalid_fault", "; ".join(item["msg"] for item in error.errors())) from error
        with store.begin() as db:
            faults.order(db, wanted)
            return jsonify({"items": faults.listed(db)})

    @routes.get("/faults")
    def list_faults() -> Response:
        with store.read() as db:
            return jsonify({"items": faults.listed(db)})

    @routes.delete("/faults")
    def clear_faults() -> Response:
        with store.begin() as db:
            faults.clear(db)
        return jsonify({"items": []})

    return routes

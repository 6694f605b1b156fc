"""Routes by which a test orders faults. Served only by a studio made with `faults=True`."""

from flask import Blueprint, Response, jsonify, request
from pydantic import ValidationError

from standins.store import StandinStore
from standins.studio import faults
from standins.studio.config import StudioConfig
from standins.studio.door import require_loopback
from standins.studio.problems import StudioProblem


def fault_routes(config: StudioConfig, store: StandinStore) -> Blueprint:
    """Make /faults: POST orders a fault, GET lists those to come, DELETE drops them; on loopback without a key."""
    routes = Blueprint("faults", __name__)

    @routes.before_request
    def check_loopback() -> None:
        require_loopback(request, config.jobs_key)

    @routes.post("/faults")
    def order_fault() -> Response:
        try:
            wanted = faults.StudioFaultOrder.model_validate_json(request.get_data())
        except ValidationError as error:
            raise StudioProblem(422, "invalid_fault", "; ".join(item["msg"] for item in error.errors())) from error
        with store.begin() as db:
            faults.order_studio_fault(db, wanted)
            return jsonify({"items": faults.list_studio_faults(db)})

    @routes.get("/faults")
    def list_faults() -> Response:
        with store.read() as db:
            return jsonify({"items": faults.list_studio_faults(db)})

    @routes.delete("/faults")
    def clear_faults() -> Response:
        with store.begin() as db:
            faults.clear_studio_faults(db)
        return jsonify({"items": []})

    return routes

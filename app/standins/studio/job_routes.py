"""The calls of the jobs protocol that concern jobs."""

from flask import Blueprint, Response, jsonify, request

from app.standins.store import Store
from app.standins.studio import faults, ledger, misbehaviour
from app.standins.studio.blobs import Blobs
from app.standins.studio.callbacks import Courier
from app.standins.studio.config import StudioConfig
from app.standins.studio.door import require_key
from app.standins.studio.intake import accept, checked_key
from app.standins.studio.job import Job, view
from app.standins.studio.problems import Problem
from app.standins.studio.workshop import Workshop


def job_routes(config: StudioConfig, store: Store, workshop: Workshop, courier: Courier, kept: Blobs) -> Blueprint:
    """POST /jobs, GET /jobs, GET /jobs/{id} and POST /jobs/{id}/cancel, all under the jobs key."""
    routes = Blueprint("jobs", __name__)
    base = config.public_url.rstrip("/")

    @routes.before_request
    def check_key() -> None:
        require_key(request, config.jobs_key)

    @routes.post("/jobs")
    def submit() -> Response:
        accepted = accept(store, config, kept, key=request.headers.get("Idempotency-Key", ""), body=request.get_data())
        workshop.ring()
        answer = _shown(accepted.job, base, 200 if accepted.again else 202)
        if accepted.again:
            answer.headers["Idempotency-Replayed"] = "true"
        return misbehaviour.at_submit(accepted.fault, answer, request)

    @routes.get("/jobs")
    def find() -> Response:
        key = checked_key(request.args.get("idempotency_key", ""))
        with store.read() as db:
            job = ledger.by_key(db, key)
        if job is None:
            raise Problem(404, "not_found", f"no job has the idempotency key {key!r}")
        return _status(job)

    @routes.get("/jobs/<job_id>")
    def show(job_id: str) -> Response:
        with store.read() as db:
            return _status(_existing(ledger.by_id(db, job_id), job_id))

    @routes.post("/jobs/<job_id>/cancel")
    def cancel(job_id: str) -> Response:
        with store.begin() as db:
            before = _existing(ledger.by_id(db, job_id), job_id)
            ended = ledger.cancel(db, job_id, config.clock.now())
            job = _existing(ledger.by_id(db, job_id), job_id)
        if not ended:
            detail = f"the job is {before.state} and cannot be cancelled"
            raise Problem(409, "job_final", detail, job=view(job, base))
        courier.ring()
        return _shown(job, base, 200)

    def _status(job: Job) -> Response:
        answer = _shown(job, base, 200)
        if not config.faults:
            return answer
        with store.begin() as db:
            fault = faults.take(db, job.kind, faults.AT_STATUS)
        return misbehaviour.at_status(fault, answer)

    return routes


def _existing(job: Job | None, job_id: str) -> Job:
    if job is None:
        raise Problem(404, "not_found", f"no job has the id {job_id!r}")
    return job


def _shown(job: Job, base: str, status: int) -> Response:
    answer = jsonify(view(job, base))
    answer.status_code = status
    return answer

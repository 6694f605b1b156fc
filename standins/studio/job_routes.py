"""Routes of the jobs protocol that concern jobs."""

from flask import Blueprint, Response, jsonify, request

from standins.store import StandinStore
from standins.studio import faults, ledger, misbehaviour
from standins.studio.blobs import Blobs
from standins.studio.callbacks import Courier
from standins.studio.config import StudioConfig
from standins.studio.door import require_key
from standins.studio.intake import accept_job, checked_key
from standins.studio.job import StudioJob, job_view
from standins.studio.problems import StudioProblem
from standins.studio.workshop import Workshop


def job_routes(
    config: StudioConfig, store: StandinStore, workshop: Workshop, courier: Courier, kept: Blobs
) -> Blueprint:
    """POST /jobs, GET /jobs, GET /jobs/{id} and POST /jobs/{id}/cancel, all under the jobs key."""
    routes = Blueprint("jobs", __name__)
    base = config.public_url.rstrip("/")

    @routes.before_request
    def check_key() -> None:
        require_key(request, config.jobs_key)

    @routes.post("/jobs")
    def submit() -> Response:
        accepted = accept_job(
            store, config, kept, key=request.headers.get("Idempotency-Key", ""), body=request.get_data()
        )
        workshop.ring()
        answer = _shown(accepted.job, base, 200 if accepted.again else 202)
        if accepted.again:
            answer.headers["Idempotency-Replayed"] = "true"
        return misbehaviour.spoil_submission(accepted.fault, answer, request)

    @routes.get("/jobs")
    def find() -> Response:
        key = checked_key(request.args.get("idempotency_key", ""))
        with store.read() as db:
            job = ledger.job_by_key(db, key)
        if job is None:
            raise StudioProblem(404, "not_found", f"no job has the idempotency key {key!r}")
        return _status(job)

    @routes.get("/jobs/<job_id>")
    def show(job_id: str) -> Response:
        with store.read() as db:
            return _status(_existing(ledger.job_by_id(db, job_id), job_id))

    @routes.post("/jobs/<job_id>/cancel")
    def cancel(job_id: str) -> Response:
        with store.begin() as db:
            before = _existing(ledger.job_by_id(db, job_id), job_id)
            ended = ledger.cancel_job(db, job_id, config.clock.now())
            job = _existing(ledger.job_by_id(db, job_id), job_id)
        if not ended:
            detail = f"the job is {before.state} and cannot be cancelled"
            raise StudioProblem(409, "job_final", detail, job=job_view(job, base))
        courier.ring()
        return _shown(job, base, 200)

    def _status(job: StudioJob) -> Response:
        answer = _shown(job, base, 200)
        if not config.faults:
            return answer
        with store.begin() as db:
            fault = faults.take_studio_fault(db, job.kind, faults.AT_STATUS)
        return misbehaviour.spoil_status(fault, answer)

    return routes


def _existing(job: StudioJob | None, job_id: str) -> StudioJob:
    if job is None:
        raise StudioProblem(404, "not_found", f"no job has the id {job_id!r}")
    return job


def _shown(job: StudioJob, base: str, status: int) -> Response:
    answer = jsonify(job_view(job, base))
    answer.status_code = status
    return answer

"""The calls of the jobs protocol that concern jobs."""

import json

from flask import Blueprint, Response, jsonify, request

from app.standins.studio import faults, ledger, misbehaviour
from app.standins.studio.blobs import Blobs
from app.standins.studio.callbacks import Courier
from app.standins.studio.config import StudioConfig
from app.standins.studio.door import require_key
from app.standins.studio.inputs import keep_data
from app.standins.studio.job import Job, view
from app.standins.studio.problems import Problem
from app.standins.studio.request import read_request
from app.standins.studio.store import Store
from app.standins.studio.workshop import Workshop

LONGEST_KEY = 255


def job_routes(config: StudioConfig, store: Store, workshop: Workshop, courier: Courier, kept: Blobs) -> Blueprint:
    """POST /jobs, GET /jobs, GET /jobs/{id} and POST /jobs/{id}/cancel, all under the jobs key."""
    routes = Blueprint("jobs", __name__)

    @routes.before_request
    def check_key() -> None:
        require_key(request, config.jobs_key)

    @routes.post("/jobs")
    def submit() -> Response:
        key = _idempotency_key(request.headers.get("Idempotency-Key", ""))
        wanted, _ = read_request(_body())
        digest = wanted.digest()
        wanted = keep_data(wanted, kept)
        with store.begin() as db:
            try:
                job = ledger.same_again(db, key, digest)
            except ledger.KeyTaken as error:
                raise _key_reused(key, error.job_id) from error
            fault = faults.take(db, wanted.kind, faults.AT_SUBMIT)
            again = job is not None
            if job is None and (fault is None or fault.name != "busy"):
                job = ledger.submit(
                    db,
                    job_id=config.ids.new("job"),
                    key=key,
                    digest=digest,
                    request=wanted,
                    faults=misbehaviour.of_new_job(db, wanted.kind),
                    now=config.clock.now(),
                )
        if job is None:
            raise Problem(429, "busy", "the studio is busy; nothing was accepted, try again", {"Retry-After": "1"})
        workshop.ring()
        answer = _shown(job, 200 if again else 202)
        if again:
            answer.headers["Idempotency-Replayed"] = "true"
        return misbehaviour.at_submit(fault, answer, request)

    @routes.get("/jobs")
    def find() -> Response:
        key = _idempotency_key(request.args.get("idempotency_key", ""))
        with store.read() as db:
            job = ledger.by_key(db, key)
        if job is None:
            raise Problem(404, "not_found", f"no job has the idempotency key {key!r}")
        return _status(job)

    @routes.get("/jobs/<job_id>")
    def show(job_id: str) -> Response:
        return _status(_job(job_id))

    @routes.post("/jobs/<job_id>/cancel")
    def cancel(job_id: str) -> Response:
        _job(job_id)
        with store.begin() as db:
            done = ledger.cancel(db, job_id, config.clock.now())
        job = _job(job_id)
        if not done:
            raise Problem(409, "job_final", f"the job is {job.state} and cannot be cancelled", job=view(job, _base()))
        courier.ring()
        return _shown(job, 200)

    def _job(job_id: str) -> Job:
        with store.read() as db:
            job = ledger.by_id(db, job_id)
        if job is None:
            raise Problem(404, "not_found", f"no job has the id {job_id!r}")
        return job

    def _status(job: Job) -> Response:
        fault = None
        if config.faults:
            with store.begin() as db:
                fault = faults.take(db, job.kind, faults.AT_STATUS)
        return misbehaviour.at_status(fault, _shown(job, 200))

    def _shown(job: Job, status: int) -> Response:
        answer = jsonify(view(job, _base()))
        answer.status_code = status
        return answer

    def _base() -> str:
        return config.public_url.rstrip("/")

    return routes


def _body() -> object:
    try:
        return json.loads(request.get_data())
    except ValueError as error:
        raise Problem(400, "malformed_json", "the body must be a JSON object") from error


def _idempotency_key(key: str) -> str:
    if not key:
        raise Problem(
            400, "missing_key", "an idempotency key is needed: the header of POST /jobs, the query of GET /jobs"
        )
    if len(key) > LONGEST_KEY:
        raise Problem(400, "missing_key", f"an idempotency key has at most {LONGEST_KEY} characters, not {len(key)}")
    return key


def _key_reused(key: str, job_id: str) -> Problem:
    detail = f"the key {key!r} was used with another body; send the same body again or take a new key"
    return Problem(409, "key_reused", detail, job_id=job_id)

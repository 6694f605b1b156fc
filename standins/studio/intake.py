"""Acceptance of a job, once per idempotency key."""

import json
from dataclasses import dataclass

from standins.fault import Fault
from standins.store import StandinStore
from standins.studio import faults, ledger, misbehaviour
from standins.studio.blobs import Blobs
from standins.studio.config import StudioConfig
from standins.studio.inputs import keep_data
from standins.studio.job import StudioJob
from standins.studio.problems import StudioProblem
from standins.studio.request import read_request

LONGEST_KEY = 255


@dataclass(frozen=True)
class AcceptedJob:
    """The job of a key. `again`: the key had it already. `fault` spoils the answer."""

    job: StudioJob
    again: bool
    fault: Fault | None


def accept_job(store: StandinStore, config: StudioConfig, kept: Blobs, *, key: str, body: bytes) -> AcceptedJob:
    """Store the job that `body` asks for under `key`, or find the one that is there.

    Raises StudioProblem: 400 without a key or JSON, 409 if the key has another body, 422 if the request cannot be
    carried out, 429 if the studio is busy. No job is stored then.
    """
    key = checked_key(key)
    wanted, _ = read_request(_parsed(body))
    digest = wanted.digest()
    wanted = keep_data(wanted, kept)
    with store.begin() as db:
        known = _same_body(ledger.job_by_key(db, key), key, digest)
        fault = faults.take_studio_fault(db, wanted.kind, faults.AT_SUBMIT) if config.faults else None
        if known is not None:
            return AcceptedJob(known, again=True, fault=fault)
        if fault is not None and fault.name == "busy":
            refusal = StudioProblem(
                429, "busy", "the studio is busy; nothing was accepted, try again", {"Retry-After": "1"}
            )
        else:
            job = ledger.submit_job(
                db,
                job_id=config.ids.new("job"),
                key=key,
                digest=digest,
                request=wanted,
                faults=misbehaviour.take_job_faults(db, wanted.kind) if config.faults else [],
                now=config.clock.now(),
            )
            return AcceptedJob(job, again=False, fault=fault)
    raise refusal


def checked_key(key: str) -> str:
    """Return the idempotency key. Raise StudioProblem 400 if it is missing or too long."""
    if not key:
        where = "the header Idempotency-Key of POST /jobs, the query idempotency_key of GET /jobs"
        raise StudioProblem(400, "missing_key", f"an idempotency key is needed: {where}")
    if len(key) > LONGEST_KEY:
        raise StudioProblem(
            400, "missing_key", f"an idempotency key has at most {LONGEST_KEY} characters, not {len(key)}"
        )
    return key


def _parsed(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise StudioProblem(400, "malformed_json", "the body must be a JSON object") from error


def _same_body(job: StudioJob | None, key: str, digest: str) -> StudioJob | None:
    if job is not None and job.digest != digest:
        detail = f"the key {key!r} was used with another body; send the same body again or take a new key"
        raise StudioProblem(409, "key_reused", detail, job_id=job.id)
    return job

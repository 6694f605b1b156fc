"""Taking a job in: once per idempotency key."""

import json
from dataclasses import dataclass

from app.standins.fault import Fault
from app.standins.store import Store
from app.standins.studio import faults, ledger, misbehaviour
from app.standins.studio.blobs import Blobs
from app.standins.studio.config import StudioConfig
from app.standins.studio.inputs import keep_data
from app.standins.studio.job import Job
from app.standins.studio.problems import Problem
from app.standins.studio.request import read_request

LONGEST_KEY = 255


@dataclass(frozen=True)
class Accepted:
    """The job of a key; `again` when the key had it already; the fault that spoils the answer."""

    job: Job
    again: bool
    fault: Fault | None


def accept(store: Store, config: StudioConfig, kept: Blobs, *, key: str, body: bytes) -> Accepted:
    """Store the job that `body` asks for under `key`, or find the one that is there.

    Raises Problem: 400 without a key or JSON, 409 when the key has another body, 422 when the request cannot be carried
    out, 429 when nothing is taken in now. Nothing is stored then.
    """
    key = checked_key(key)
    wanted, _ = read_request(_parsed(body))
    digest = wanted.digest()
    wanted = keep_data(wanted, kept)
    with store.begin() as db:
        known = _same_body(ledger.by_key(db, key), key, digest)
        fault = faults.take(db, wanted.kind, faults.AT_SUBMIT) if config.faults else None
        if known is not None:
            return Accepted(known, again=True, fault=fault)
        if fault is not None and fault.name == "busy":
            refusal = Problem(429, "busy", "the studio is busy; nothing was accepted, try again", {"Retry-After": "1"})
        else:
            job = ledger.submit(
                db,
                job_id=config.ids.new("job"),
                key=key,
                digest=digest,
                request=wanted,
                faults=misbehaviour.of_new_job(db, wanted.kind) if config.faults else [],
                now=config.clock.now(),
            )
            return Accepted(job, again=False, fault=fault)
    raise refusal


def checked_key(key: str) -> str:
    """The idempotency key. Problem 400 when it is missing or too long."""
    if not key:
        where = "the header Idempotency-Key of POST /jobs, the query idempotency_key of GET /jobs"
        raise Problem(400, "missing_key", f"an idempotency key is needed: {where}")
    if len(key) > LONGEST_KEY:
        raise Problem(400, "missing_key", f"an idempotency key has at most {LONGEST_KEY} characters, not {len(key)}")
    return key


def _parsed(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Problem(400, "malformed_json", "the body must be a JSON object") from error


def _same_body(job: Job | None, key: str, digest: str) -> Job | None:
    if job is not None and job.digest != digest:
        detail = f"the key {key!r} was used with another body; send the same body again or take a new key"
        raise Problem(409, "key_reused", detail, job_id=job.id)
    return job

"""Jobs and their states, which only move forward. Each change and its callback are one transaction."""

import json
import sqlite3
from dataclasses import asdict
from datetime import datetime
from decimal import Decimal

from standins.studio import callbacks
from standins.studio.job import CURRENCY, StudioFailure, StudioJob, StudioJobState, StudioOutput, job_from_row
from standins.studio.request import StudioJobRequest

MOST_STARTS = 20


def submit_job(
    db: sqlite3.Connection,
    *,
    job_id: str,
    key: str,
    digest: str,
    request: StudioJobRequest,
    faults: list[str],
    now: datetime,
) -> StudioJob:
    """Store a new job under its key. Raise IntegrityError if the key is taken."""
    db.execute(
        "INSERT INTO jobs (id, idempotency_key, digest, kind, request, state, faults, created_at, updated_at)"
        " VALUES (?, ?, ?, ?, ?, 'queued', ?, ?, ?)",
        (
            job_id,
            key,
            digest,
            request.kind,
            request.model_dump_json(),
            json.dumps(faults),
            now.isoformat(),
            now.isoformat(),
        ),
    )
    return _require(db, job_id)


def job_by_id(db: sqlite3.Connection, job_id: str) -> StudioJob | None:
    row = db.execute("SELECT * FROM jobs WHERE id = ?", (job_id,)).fetchone()
    return None if row is None else job_from_row(row)


def job_by_key(db: sqlite3.Connection, key: str) -> StudioJob | None:
    row = db.execute("SELECT * FROM jobs WHERE idempotency_key = ?", (key,)).fetchone()
    return None if row is None else job_from_row(row)


def requeue_unfinished(db: sqlite3.Connection, now: datetime) -> None:
    """Free the jobs that a killed process was making. A job that was started too often without ending fails."""
    rows = db.execute("SELECT id FROM jobs WHERE state = 'running' AND starts >= ?", (MOST_STARTS,)).fetchall()
    for row in rows:
        fail_job(
            db,
            row["id"],
            StudioFailure("too_many_starts", f"the studio died {MOST_STARTS} times while making this"),
            now,
        )
    db.execute("UPDATE jobs SET claimed = 0 WHERE state IN ('queued', 'running')")


def claim_job(db: sqlite3.Connection, now: datetime) -> StudioJob | None:
    """Set the oldest free job to running and return it; None if there is none."""
    row = db.execute(
        "SELECT id FROM jobs WHERE state IN ('queued', 'running') AND claimed = 0 ORDER BY number LIMIT 1"
    ).fetchone()
    if row is None:
        return None
    db.execute(
        "UPDATE jobs SET state = 'running', starts = starts + 1, updated_at = ? WHERE id = ?",
        (now.isoformat(), row["id"]),
    )
    return _require(db, row["id"])


def release_job(db: sqlite3.Connection, job_id: str) -> None:
    """Free a job, so that it can be claimed again."""
    db.execute("UPDATE jobs SET claimed = 0 WHERE id = ?", (job_id,))


def advance_job(db: sqlite3.Connection, job_id: str, progress: float, now: datetime) -> bool:
    """Move a running job's progress forward and tell its owner. False if it no longer runs: stop making it."""
    job = _require(db, job_id)
    if job.state != "running":
        return False
    if progress > job.progress:
        _change(db, job_id, "running", now, progress=progress)
    return True


def succeed_job(
    db: sqlite3.Connection, job_id: str, outputs: list[StudioOutput], amount: Decimal, now: datetime
) -> bool:
    """End a running job with its outputs and bill it, once. False, without a change, if it has already ended."""
    job = _require(db, job_id)
    if job.state != "running":
        return False
    for output in outputs:
        db.execute(
            "INSERT OR REPLACE INTO outputs (sha256, media_type) VALUES (?, ?)", (output.sha256, output.media_type)
        )
    db.execute(
        "INSERT INTO bill (job_id, idempotency_key, kind, amount, currency, at) VALUES (?, ?, ?, ?, ?, ?)",
        (job_id, job.idempotency_key, job.kind, str(amount), CURRENCY, now.isoformat()),
    )
    db.execute(
        "UPDATE jobs SET outputs = ?, amount = ? WHERE id = ?",
        (json.dumps([asdict(item) for item in outputs]), str(amount), job_id),
    )
    _change(db, job_id, "succeeded", now, progress=1.0)
    return True


def fail_job(db: sqlite3.Connection, job_id: str, failure: StudioFailure, now: datetime) -> bool:
    """End a running job with a reason and without a charge. False if it has already ended."""
    if _require(db, job_id).state != "running":
        return False
    db.execute("UPDATE jobs SET error = ? WHERE id = ?", (json.dumps(asdict(failure)), job_id))
    _change(db, job_id, "failed", now)
    return True


def cancel_job(db: sqlite3.Connection, job_id: str, now: datetime) -> bool:
    """End a job that is not final yet, without a charge. False when it is final."""
    if _require(db, job_id).final:
        return False
    _change(db, job_id, "cancelled", now)
    return True


def list_charges(db: sqlite3.Connection) -> list[dict[str, str]]:
    """Every charge, oldest first: one row for each job that succeeded."""
    rows = db.execute(
        "SELECT job_id, idempotency_key, kind, amount, currency, at FROM bill ORDER BY at, rowid"
    ).fetchall()
    return [dict(row) for row in rows]


def output_type(db: sqlite3.Connection, sha256: str) -> str | None:
    """The media type of an output, or None when no job has made it."""
    row = db.execute("SELECT media_type FROM outputs WHERE sha256 = ?", (sha256,)).fetchone()
    return None if row is None else str(row["media_type"])


def _change(
    db: sqlite3.Connection, job_id: str, state: StudioJobState, now: datetime, progress: float | None = None
) -> None:
    db.execute(
        "UPDATE jobs SET state = ?, progress = coalesce(?, progress), sequence = sequence + 1, updated_at = ?"
        " WHERE id = ?",
        (state, progress, now.isoformat(), job_id),
    )
    callbacks.store_callback(db, _require(db, job_id))


def _require(db: sqlite3.Connection, job_id: str) -> StudioJob:
    job = job_by_id(db, job_id)
    if job is None:
        raise LookupError(f"no job {job_id}")
    return job

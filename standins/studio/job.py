"""A job as the studio stores it, and its form on the wire."""

import json
import sqlite3
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

StudioJobState = Literal["queued", "running", "succeeded", "failed", "cancelled"]
FINAL: tuple[StudioJobState, ...] = ("succeeded", "failed", "cancelled")
CURRENCY = "USD"


@dataclass(frozen=True)
class StudioOutput:
    sha256: str
    media_type: str


@dataclass(frozen=True)
class StudioFailure:
    """Why a job failed: a code for programs, a sentence for people."""

    code: str
    message: str


@dataclass(frozen=True)
class StudioJob:
    id: str
    idempotency_key: str
    digest: str
    kind: str
    request: str
    state: StudioJobState
    progress: float
    outputs: tuple[StudioOutput, ...]
    amount: Decimal | None
    error: StudioFailure | None
    faults: tuple[str, ...]
    starts: int
    sequence: int
    created_at: str
    updated_at: str

    @property
    def final(self) -> bool:
        return self.state in FINAL


def job_from_row(row: sqlite3.Row) -> StudioJob:
    """The job that a row of `jobs` holds."""
    return StudioJob(
        id=row["id"],
        idempotency_key=row["idempotency_key"],
        digest=row["digest"],
        kind=row["kind"],
        request=row["request"],
        state=row["state"],
        progress=row["progress"],
        outputs=tuple(StudioOutput(**output) for output in json.loads(row["outputs"])),
        amount=None if row["amount"] is None else Decimal(row["amount"]),
        error=None if row["error"] is None else StudioFailure(**json.loads(row["error"])),
        faults=tuple(json.loads(row["faults"])),
        starts=row["starts"],
        sequence=row["sequence"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def _cost(job: StudioJob) -> object:
    """Return the billed cost, or what the fault `odd_cost` orders instead, as JSON or a plain word."""
    told = next((fault.partition(":")[2] for fault in job.faults if fault.startswith("odd_cost")), None)
    if told is None:
        return {"amount": str(job.amount or Decimal("0.00")), "currency": CURRENCY}
    try:
        cost: object = json.loads(told)
    except ValueError:
        return told
    return cost


def job_view(job: StudioJob, public_url: str) -> dict[str, object]:
    """Return the job as the protocol shows it. `cost` is null until the job is final and zero unless it succeeded."""
    return {
        "id": job.id,
        "kind": job.kind,
        "state": job.state,
        "progress": round(job.progress, 3),
        "outputs": [
            {"url": f"{public_url}/outputs/{output.sha256}", "media_type": output.media_type, "sha256": output.sha256}
            for output in job.outputs
        ],
        "cost": _cost(job) if job.final else None,
        "error": None if job.error is None else {"code": job.error.code, "message": job.error.message},
        "created_at": job.created_at,
        "updated_at": job.updated_at,
        "standin": True,
    }

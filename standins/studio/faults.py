"""Faults ordered for the studio: kept in the database, used up one by one."""

import re
import sqlite3
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from standins.fault import Fault

AT_SUBMIT = ("busy", "drop_after_store", "delay_reply", "error_after_store")
AT_STATUS = ("html_status", "unknown_state", "error_status", "delay_status", "error_body_status", "lost_job")
IN_JOB = ("fail_job", "content_refused", "wrong_type_output", "empty_output", "overcharge", "odd_cost")
IN_CALLBACKS = ("duplicate_callbacks", "no_callbacks", "late_progress_after_done", "failed_after_done")
WITH_NUMBER = ("delay_reply", "error_after_store", "error_status", "delay_status", "overcharge")


class StudioFaultMatch(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: str | None = None


class StudioFaultOrder(BaseModel):
    """The body of POST /faults: the fault `next` spoils the next `times` submits, status answers or jobs.

    Its name decides which of these. Without a number (`times` null) it lasts until DELETE /faults.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    next: str
    times: Annotated[int, Field(ge=1)] | None = 1
    match: StudioFaultMatch = StudioFaultMatch()

    @model_validator(mode="after")
    def _known(self) -> Self:
        fault = self.fault()
        known = AT_SUBMIT + AT_STATUS + IN_JOB + IN_CALLBACKS
        if fault.name not in known:
            raise ValueError(f"next must be one of {', '.join(known)}")
        if fault.name in WITH_NUMBER and not re.fullmatch(r"\d+(\.\d+)?", fault.argument):
            raise ValueError(f"{fault.name} needs a number after a colon, for example {fault.name}:502")
        return self

    def fault(self) -> Fault:
        return Fault.parse(self.next)


def order_studio_fault(db: sqlite3.Connection, wanted: StudioFaultOrder) -> None:
    """Keep a fault for later."""
    fault = wanted.fault()
    db.execute(
        "INSERT INTO faults (name, argument, times_left, kind) VALUES (?, ?, ?, ?)",
        (fault.name, fault.argument, wanted.times, wanted.match.kind),
    )


def list_studio_faults(db: sqlite3.Connection) -> list[dict[str, object]]:
    """Return the faults that are not used up, oldest first."""
    rows = db.execute("SELECT * FROM faults ORDER BY number").fetchall()
    return [
        {"next": str(Fault(row["name"], row["argument"])), "times": row["times_left"], "match": {"kind": row["kind"]}}
        for row in rows
    ]


def clear_studio_faults(db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM faults")


def take_studio_fault(db: sqlite3.Connection, kind: str, names: tuple[str, ...]) -> Fault | None:
    """Return the oldest fault of these names for a job of this kind and count it down by one; or None."""
    marks = ", ".join("?" for _ in names)
    row = db.execute(
        f"SELECT * FROM faults WHERE name IN ({marks}) AND (kind IS NULL OR kind = ?) ORDER BY number LIMIT 1",
        (*names, kind),
    ).fetchone()
    if row is None:
        return None
    db.execute("UPDATE faults SET times_left = times_left - 1 WHERE number = ?", (row["number"],))
    db.execute("DELETE FROM faults WHERE times_left <= 0")
    return Fault(row["name"], row["argument"])

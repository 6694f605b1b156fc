"""Faults ordered for the stand-in model: kept in the database, used up one by one."""

from __future__ import annotations

import re
import sqlite3
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from standins.fault import Fault

BAD_ARGUMENTS = ("cut", "empty", "single_quotes", "list", "number", "glued")
WITHOUT_ARGUMENT = ("refuse", "claim_consent", "cut", "drop", "html", "no_choices", "prose", "spin", "repeat")
NEED_CALLS = ("bad_arguments", "cut", "prose")


class ModelFaultMatch(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    thread: str | None = None


class ModelFaultOrder(BaseModel):
    """The body of POST /faults: the fault `next` spoils the next `times` answers that fit, the oldest order first.

    `bad_arguments:…`, `cut` and `prose` apply to the next answer with calls. `match.thread` is `task`, `main` or the
    name of a verdict.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    next: str
    times: Annotated[int, Field(ge=1, le=1000)] = 1
    match: ModelFaultMatch = ModelFaultMatch()

    @model_validator(mode="after")
    def _known(self) -> Self:
        fault = self.fault()
        known = {
            "bad_arguments": fault.argument in BAD_ARGUMENTS,
            "silence": re.fullmatch(r"\d+(\.\d+)?", fault.argument) is not None,
            "error": re.fullmatch(r"[45]\d\d", fault.argument) is not None,
            "text": bool(fault.argument),
            **dict.fromkeys(WITHOUT_ARGUMENT, not fault.argument),
        }
        if not known.get(fault.name, False):
            forms = [
                f"bad_arguments:{'|'.join(BAD_ARGUMENTS)}",
                "silence:SECONDS",
                "error:STATUS",
                "text:WORDS",
                *WITHOUT_ARGUMENT,
            ]
            raise ValueError(f"next must be one of {', '.join(forms)}")
        return self

    def fault(self) -> Fault:
        return Fault.parse(self.next)


def order_model_fault(db: sqlite3.Connection, wanted: ModelFaultOrder) -> None:
    fault = wanted.fault()
    db.execute(
        "INSERT INTO faults (name, argument, times, thread) VALUES (?, ?, ?, ?)",
        (fault.name, fault.argument, wanted.times, wanted.match.thread),
    )


def list_model_faults(db: sqlite3.Connection) -> list[dict[str, object]]:
    """Return the faults that are not used up, oldest first."""
    rows = db.execute("SELECT * FROM faults ORDER BY number").fetchall()
    return [
        {"next": str(Fault(row["name"], row["argument"])), "times": row["times"], "match": {"thread": row["thread"]}}
        for row in rows
    ]


def clear_model_faults(db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM faults")


def take_model_fault(db: sqlite3.Connection, thread: str, *, calls: bool) -> Fault | None:
    """Return the oldest fault that fits this answer and count it down by one; None if none fits."""
    for row in db.execute("SELECT * FROM faults WHERE thread IS NULL OR thread = ? ORDER BY number", (thread,)):
        if row["name"] in NEED_CALLS and not calls:
            continue
        db.execute("UPDATE faults SET times = times - 1 WHERE number = ?", (row["number"],))
        db.execute("DELETE FROM faults WHERE times <= 0")
        return Fault(row["name"], row["argument"])
    return None

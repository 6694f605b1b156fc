"""A finding about an installation, with its verdict."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    OK = "ok"
    NOTE = "note"
    PROBLEM = "problem"


@dataclass(frozen=True)
class Finding:
    """One line of the report. `words` say what was found and, for a problem, what to do about it."""

    subject: str
    verdict: Verdict
    words: str

"""What a review looks at: runs that ended, and alarms with what people said of them. Plain facts, no database."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from skills.review.meaning import Meaning


@dataclass(frozen=True)
class RunFact:
    """One run of the skill. `attempts` counts from one; `error` is its message, empty unless it failed."""

    run_id: str
    function_id: str
    version_id: str | None
    status: str
    began_at: datetime
    ended_at: datetime | None
    attempts: int = 1
    error: str = ""

    @property
    def seconds(self) -> float | None:
        return None if self.ended_at is None else (self.ended_at - self.began_at).total_seconds()


@dataclass(frozen=True)
class Alarm:
    """A question that a run of the skill, or one that it invoked, put to people.

    `meaning` is None while nobody has answered; `ignored` tells that nobody did for a day. `measured` is the number
    that the run's output gave under that name.
    """

    ref: str
    run_id: str
    at: datetime
    said: str = ""
    meaning: Meaning | None = None
    ignored: bool = False
    measured: float | None = None

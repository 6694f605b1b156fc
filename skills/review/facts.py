"""Facts of a review: runs, alarms with people's answers, and the numbers computed from them."""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

AnswerMeaning = Literal["false_alarm", "late", "real", "other"]
_MEANING_WORDS: tuple[tuple[AnswerMeaning, tuple[str, ...]], ...] = (
    ("false_alarm", ("false", "noise", "not real", "no incident", "too early", "ignore", "useless")),
    ("late", ("late", "missed")),
    ("real", ("real", "true", "acted", "useful", "right", "yes", "good")),
)


def answer_meaning(value: str) -> AnswerMeaning:
    """Return the meaning of an answer by its words: real but too late is `late`, `not real` is `false_alarm`."""
    said = value.casefold().replace("_", " ")
    return next((means for means, words in _MEANING_WORDS if any(word in said for word in words)), "other")


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
        """How long the run took, None while it runs."""
        return None if self.ended_at is None else (self.ended_at - self.began_at).total_seconds()


@dataclass(frozen=True)
class Alarm:
    """A question that a run of the skill, or one that it invoked, put to people.

    `meaning` is None without an answer; `ignored` is true after a day without one. `measured` is the number of that
    name in the run's output.
    """

    ref: str
    run_id: str
    at: datetime
    said: str = ""
    meaning: AnswerMeaning | None = None
    ignored: bool = False
    measured: float | None = None


_NUMBERS = re.compile(r"[0-9a-f]{8,}|\d+(\.\d+)?")
MOST_NAMED = 30


class RepeatedFailure(BaseModel):
    """An error that occurred more than once; numbers in `error` are replaced by `#`."""

    model_config = ConfigDict(frozen=True)

    error: str
    count: int
    run_ids: tuple[str, ...]


class JudgedAlarm(BaseModel):
    """An alarm with the answer it got, or `ignored`."""

    model_config = ConfigDict(frozen=True)

    ref: str
    run_id: str
    said: str
    meaning: str
    measured: float | None


class ReviewFacts(BaseModel):
    """The numbers of a review. Rates are from 0 to 1, or None if there is nothing to divide.

    `answered` counts alarms with an answer, `ignored` those without one after a day. The alarm rates are shares of the
    alarms that are false, late, real or ignored: `false_alarm_rate` false and ignored ones, `late_rate` late ones,
    `acted_on_rate` real and late ones. `slowest_tenth_seconds` is the duration that nine of ten runs stay under.
    """

    model_config = ConfigDict(frozen=True)

    skill_id: str
    version: int
    since: datetime
    until: datetime
    runs: int
    ended: int
    completed: int
    failed: int
    success_rate: float | None
    median_seconds: float | None
    slowest_tenth_seconds: float | None
    retries: int
    alarms: int
    answered: int
    ignored: int
    false_alarms: int
    late: int
    real: int
    false_alarm_rate: float | None
    late_rate: float | None
    acted_on_rate: float | None
    repeated_failures: tuple[RepeatedFailure, ...]
    judged: tuple[JudgedAlarm, ...]

    def refs(self) -> frozenset[str]:
        """Return the run and alarm ids that a verdict may name as evidence."""
        runs = [run_id for failure in self.repeated_failures for run_id in failure.run_ids]
        told = [name for one in self.judged for name in (one.ref, one.run_id) if name]
        return frozenset([*runs, *told])


def compute_facts(
    skill_id: str, version: int, since: datetime, until: datetime, runs: Sequence[RunFact], alarms: Sequence[Alarm]
) -> ReviewFacts:
    """Compute the facts of one skill between two moments."""
    ended = [run for run in runs if run.status in {"completed", "failed"}]
    completed = sum(run.status == "completed" for run in ended)
    took = sorted(run.seconds for run in ended if run.seconds is not None)
    meant = Counter(alarm.meaning for alarm in alarms if alarm.meaning is not None)
    ignored = sum(alarm.meaning is None and alarm.ignored for alarm in alarms)
    known = meant["false_alarm"] + meant["late"] + meant["real"] + ignored
    return ReviewFacts(
        skill_id=skill_id,
        version=version,
        since=since,
        until=until,
        runs=len(runs),
        ended=len(ended),
        completed=completed,
        failed=len(ended) - completed,
        success_rate=_share(completed, len(ended)),
        median_seconds=round(statistics.median(took), 3) if took else None,
        slowest_tenth_seconds=round(took[math.ceil(0.9 * len(took)) - 1], 3) if took else None,
        retries=sum(max(0, run.attempts - 1) for run in ended),
        alarms=len(alarms),
        answered=sum(meant.values()),
        ignored=ignored,
        false_alarms=meant["false_alarm"],
        late=meant["late"],
        real=meant["real"],
        false_alarm_rate=_share(meant["false_alarm"] + ignored, known),
        late_rate=_share(meant["late"], known),
        acted_on_rate=_share(meant["real"] + meant["late"], known),
        repeated_failures=_repeated_failures(ended),
        judged=tuple(_as_judged(alarm) for alarm in _settled_alarms(alarms)[:MOST_NAMED]),
    )


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _settled_alarms(alarms: Sequence[Alarm]) -> list[Alarm]:
    """Return the alarms that were answered or ignored, newest first."""
    told = [alarm for alarm in alarms if alarm.meaning is not None or alarm.ignored]
    return sorted(told, key=lambda alarm: alarm.at, reverse=True)


def _as_judged(alarm: Alarm) -> JudgedAlarm:
    means = alarm.meaning or "ignored"
    return JudgedAlarm(ref=alarm.ref, run_id=alarm.run_id, said=alarm.said, meaning=means, measured=alarm.measured)


def _repeated_failures(ended: Sequence[RunFact]) -> tuple[RepeatedFailure, ...]:
    found: dict[str, list[str]] = {}
    for run in ended:
        if run.status == "failed":
            found.setdefault(_NUMBERS.sub("#", run.error)[:300], []).append(run.run_id)
    often = sorted(((error, ids) for error, ids in found.items() if len(ids) > 1), key=lambda pair: -len(pair[1]))
    return tuple(RepeatedFailure(error=error, count=len(ids), run_ids=tuple(ids[:5])) for error, ids in often[:5])

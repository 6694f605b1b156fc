"""Runs and alarms for tests of the review."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from skills.review.facts import Alarm, ReviewFacts, RunFact, answer_meaning, compute_facts

SINCE = datetime(2026, 3, 2, tzinfo=UTC)
UNTIL = SINCE + timedelta(days=7)


def observed_run(
    n: int, *, status: str = "completed", seconds: float = 2.0, attempts: int = 1, error: str = ""
) -> RunFact:
    began = SINCE + timedelta(minutes=30 * n)
    return RunFact(f"run{n}", "look", "sv_1", status, began, began + timedelta(seconds=seconds), attempts, error)


def observed_alarm(n: int, said: str | None, *, ignored: bool = False, measured: float | None = None) -> Alarm:
    at = SINCE + timedelta(minutes=30 * n)
    means = None if said is None else answer_meaning(said)
    return Alarm(f"card{n}", f"run{n}", at, said or "", means, ignored, measured)


def review_facts(
    runs: int, *, false: int = 0, late: int = 0, real: int = 0, ignored: int = 0, failed: int = 0
) -> ReviewFacts:
    """So many runs, of which the last ones failed, and alarms that people judged so."""
    said = ["false alarm"] * false + ["real but too late"] * late + ["real"] * real
    raised = [observed_alarm(n, one) for n, one in enumerate(said)]
    raised += [observed_alarm(len(said) + n, None, ignored=True) for n in range(ignored)]
    made = [observed_run(n) for n in range(runs - failed)]
    made += [observed_run(n, status="failed", error=f"KeyError: {n}") for n in range(runs - failed, runs)]
    return compute_facts("watch", 1, SINCE, UNTIL, made, raised)

"""A skill's numbers follow from its runs and alarms alone."""

from __future__ import annotations

import pytest

from skills.review.facts import answer_meaning, compute_facts
from tests.skills.review.observations import SINCE, UNTIL, observed_alarm, observed_run, review_facts


@pytest.mark.parametrize(
    ("said", "means"),
    [
        ("false alarm", "false_alarm"),
        ("False Alarm", "false_alarm"),
        ("not real", "false_alarm"),
        ("noise", "false_alarm"),
        ("real but too late", "late"),
        ("missed", "late"),
        ("real", "real"),
        ("yes, acted on it", "real"),
        ("perhaps", "other"),
    ],
)
def test_an_answer_means_what_its_words_say(said: str, means: str) -> None:
    assert answer_meaning(said) == means


def test_rates_durations_retries_and_repeated_failures() -> None:
    runs = [observed_run(n, seconds=n + 1) for n in range(9)]
    runs += [observed_run(n, status="failed", seconds=60, attempts=4, error=f"TimeoutError: job {n}") for n in (9, 10)]
    runs += [observed_run(11, status="running"), observed_run(12, status="cancelled")]
    raised = [
        observed_alarm(0, "false alarm"),
        observed_alarm(1, "real"),
        observed_alarm(2, "real but too late"),
        observed_alarm(3, None, ignored=True),
    ]
    raised.append(observed_alarm(4, None))

    found = compute_facts("watch", 3, SINCE, UNTIL, runs, raised)

    assert (found.runs, found.ended, found.completed, found.failed) == (13, 11, 9, 2)
    assert found.success_rate == pytest.approx(9 / 11, abs=1e-4)
    assert (found.median_seconds, found.slowest_tenth_seconds) == (6.0, 60.0)
    assert found.retries == 6
    assert (found.alarms, found.answered, found.ignored) == (5, 3, 1)
    assert (found.false_alarm_rate, found.late_rate, found.acted_on_rate) == (0.5, 0.25, 0.5)
    assert [(one.error, one.count) for one in found.repeated_failures] == [("TimeoutError: job #", 2)]
    assert {"run9", "run10", "card0", "run0"} <= found.refs()


def test_nothing_observed_gives_no_rates() -> None:
    found = review_facts(0)

    assert (found.success_rate, found.median_seconds, found.false_alarm_rate, found.judged) == (None, None, None, ())

"""What was predicted is held against what happened."""

from __future__ import annotations

import pytest

from skills.review.comparison import compare_prediction
from skills.review.facts import ReviewFacts
from skills.review.verdict import Prediction
from tests.skills.review.observations import review_facts

FEWER = Prediction("false_alarm_rate", 0.8, 0.4)
STEADIER = Prediction("success_rate", 0.5, 0.75)


@pytest.mark.parametrize(
    ("prediction", "since", "outcome", "happened"),
    [
        (FEWER, review_facts(20, false=1, real=3), "kept", 0.25),
        (FEWER, review_facts(20, false=6, real=4), "better", 0.6),
        (FEWER, review_facts(20, false=9, real=1), "worse", 0.9),
        (FEWER, review_facts(20, false=1, real=1), "too_few", 0.5),
        (FEWER, review_facts(20), "kept", 0.0),
        (FEWER, review_facts(2), "too_few", None),
        (STEADIER, review_facts(20, failed=4), "kept", 0.8),
        (STEADIER, review_facts(20, failed=12), "worse", 0.4),
        (STEADIER, review_facts(3), "too_few", 1.0),
    ],
)
def test_prediction_against_what_happened(
    prediction: Prediction, since: ReviewFacts, outcome: str, happened: float | None
) -> None:
    found = compare_prediction("review_1", prediction, True, since)

    assert (found.outcome, found.happened) == (outcome, happened)


def test_a_change_that_never_served_says_so() -> None:
    found = compare_prediction("review_1", FEWER, False, review_facts(20, real=5))

    assert found.outcome == "never_served"
    assert "never came to serve" in found.in_words()


def test_it_is_said_in_words() -> None:
    assert compare_prediction("review_1", FEWER, True, review_facts(20, false=1, real=3)).in_words() == (
        "false alarm rate was 80% and should become 40%; it is 25% since: as predicted."
    )

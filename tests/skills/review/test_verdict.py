"""A verdict proposes only what the facts bear out."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from skills.review.facts import ReviewFacts
from skills.review.sensitivity import Tunable
from skills.review.verdict import NoProposal, Proposal, ReviewVerdict, check_verdict
from tests.skills.review.observations import review_facts

KNOWN = (Tunable("SENSITIVITY", 1.0, 7, "more alarms"), Tunable("PAUSE", 300.0, 9, "unknown"))
NOISY = review_facts(20, false=4, real=1)
LATE = review_facts(20, late=4, real=1)


def said(**told: Any) -> ReviewVerdict:
    base: dict[str, Any] = {"decision": "change", "summary": "Too many false alarms.", "sensitivity": "less_sensitive"}
    base |= {"numbers": [{"constant": "SENSITIVITY", "value": 0.7}], "evidence": ["card0"], "expected": 0.3}
    return ReviewVerdict.model_validate({**base, **told})


def proposal(verdict: ReviewVerdict, of: ReviewFacts = NOISY) -> Proposal:
    found = check_verdict(verdict, of, KNOWN)
    assert isinstance(found, Proposal), found
    return found


def test_a_verdict_that_agrees_with_the_facts_is_a_proposal() -> None:
    found = proposal(said())

    assert [(one.constant, one.line, one.was, one.to) for one in found.changes] == [("SENSITIVITY", 7, 1.0, 0.7)]
    assert (found.way, found.evidence) == ("less_sensitive", ("card0",))
    assert (found.prediction.measure, found.prediction.was, found.prediction.expected) == ("false_alarm_rate", 0.8, 0.3)


def test_with_the_opposite_facts_it_goes_up() -> None:
    more = said(sensitivity="more_sensitive", numbers=[{"constant": "SENSITIVITY", "value": 1.5}])

    found = proposal(more, LATE)

    assert [one.to for one in found.changes] == [1.5]
    # The verdict spoke of another measure than the one that this change is for.
    assert (found.prediction.measure, found.prediction.was, found.prediction.expected) == ("late_rate", 0.8, 0.4)


@pytest.mark.parametrize(
    ("told", "of", "reason"),
    [
        ({}, review_facts(4, false=4), "only 4 runs"),
        ({"sensitivity": "more_sensitive"}, NOISY, "the outcomes say less_sensitive"),
        ({}, LATE, "the outcomes say more_sensitive"),
        ({"evidence": ["card99", "made up"]}, NOISY, "names no run and no answer"),
        ({"sensitivity": "keep"}, review_facts(20, real=5), "give a reason"),
        ({"numbers": [{"constant": "PAUSE", "value": 1}]}, NOISY, "no change that can be made"),
        ({"numbers": [{"constant": "NEVER", "value": 1}]}, NOISY, "no change that can be made"),
        ({"decision": "keep", "summary": "it does well"}, NOISY, "it does well"),
    ],
)
def test_what_the_facts_do_not_bear_out_is_no_proposal(told: dict[str, Any], of: ReviewFacts, reason: str) -> None:
    found = check_verdict(said(**told), of, KNOWN)

    assert isinstance(found, NoProposal)
    assert reason in found.reason


@pytest.mark.parametrize(("wished", "becomes"), [(0.0001, 0.5), (1.0, 0.6), (40.0, 0.6), (-3.0, 0.5), (0.61234, 0.612)])
def test_numbers_stay_within_a_half_and_on_the_facts_side(wished: float, becomes: float) -> None:
    found = proposal(said(numbers=[{"constant": "SENSITIVITY", "value": wished}]))

    assert [one.to for one in found.changes] == [becomes]


def test_a_skill_that_keeps_failing_may_be_changed_in_words() -> None:
    unwell = review_facts(10, failed=5)
    told = said(
        sensitivity="keep", numbers=[], words="guard the missing key", evidence=["run5"], measure="success_rate"
    )

    found = proposal(told, unwell)

    assert (found.changes, found.words) == ((), "guard the missing key")
    assert (found.prediction.measure, found.prediction.expected) == ("success_rate", 0.75)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_no_number_is_no_verdict(value: float) -> None:
    with pytest.raises(ValidationError):
        said(numbers=[{"constant": "SENSITIVITY", "value": value}])

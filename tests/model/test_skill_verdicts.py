"""What the stand-in says of services and of skills follows from the facts it is shown."""

from __future__ import annotations

import json
from typing import Any

import pytest

from skills.review.facts import ReviewFacts
from skills.review.sensitivity import read_tunables
from skills.review.steps import verdict_messages
from skills.review.verdict import NoProposal, Proposal, ReviewVerdict, check_verdict
from standins.model.rules.skill_review import skill_review
from standins.model.rules.watching_services import health_assessment, incident_correlation
from tests.skills.review.observations import review_facts

LIMITS = {"degraded_above": {"error_rate": 0.02, "latency": 0.8}, "critical_above": {"error_rate": 0.1, "latency": 3}}
SOURCE = "SENSITIVITY = 1.0\n"


@pytest.mark.parametrize(
    ("readings", "status", "services"),
    [
        ({"a": {"error_rate": 0.01, "latency": 0.5}, "b": {"latency": 0.7}}, "normal", []),
        ({"a": {"error_rate": 0.03}, "b": {"latency": 0.7}}, "degraded", ["a"]),
        ({"a": {"error_rate": 0.03}, "b": {"latency": 3.5}}, "critical", ["a", "b"]),
    ],
)
def test_services_are_classified_by_the_limits(readings: dict[str, Any], status: str, services: list[str]) -> None:
    said = health_assessment({"services": readings, **LIMITS})

    assert (said["status"], said["services"]) == (status, services)


def test_the_newest_deploy_of_an_affected_service_is_suspected() -> None:
    deploys = [
        {"service": "checkout", "version": "v41", "minutes_ago": 90},
        {"service": "checkout", "version": "v42", "minutes_ago": 12},
        {"service": "cart", "version": "v7", "minutes_ago": 1},
    ]

    said = incident_correlation({"services": ["checkout"], "status": "critical", "deploys": deploys})

    assert ("checkout v42" in said["cause"], said["severity"]) == (True, "high")
    assert said["recommendations"][0] == "Roll back checkout v42"


def _reviewed(of: ReviewFacts) -> Proposal | NoProposal:
    asked = verdict_messages({"facts": of.model_dump(mode="json")}, of, read_tunables(SOURCE))
    body = json.loads(str(asked[-1]["content"]).removeprefix("<facts>\n").removesuffix("\n</facts>"))
    return check_verdict(ReviewVerdict.model_validate(skill_review(body)), of, read_tunables(SOURCE))


@pytest.mark.parametrize(("fates", "value"), [({"false": 4, "real": 1}, 0.6), ({"late": 4, "real": 1}, 1.67)])
def test_a_review_says_what_the_outcomes_bear_out_either_way(fates: dict[str, int], value: float) -> None:
    found = _reviewed(review_facts(20, **fates))

    assert isinstance(found, Proposal)
    assert [(one.constant, one.to) for one in found.changes] == [("SENSITIVITY", value)]


@pytest.mark.parametrize("of", [review_facts(20, real=5), review_facts(20), review_facts(20, false=2)])
def test_a_review_leaves_alone_what_does_well(of: ReviewFacts) -> None:
    assert isinstance(_reviewed(of), NoProposal)


def test_a_skill_that_keeps_failing_is_to_be_changed_in_words() -> None:
    found = _reviewed(review_facts(10, failed=5))

    assert isinstance(found, Proposal)
    assert "KeyError" in found.words

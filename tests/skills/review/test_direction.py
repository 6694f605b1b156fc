"""The direction and the new value follow from the outcome facts; with few runs nothing changes."""

from __future__ import annotations

import pytest

from skills.review.sensitivity import Tunable, decide_direction, is_unwell, movable_tunables, moved_value, read_tunables
from tests.skills.review.observations import review_facts

SENSITIVITY = Tunable("SENSITIVITY", 1.0, 1, "more alarms")
THRESHOLD = Tunable("LATENCY_THRESHOLD", 1.0, 1, "fewer alarms")


@pytest.mark.parametrize(
    ("runs", "fates", "way"),
    [
        (20, {"false": 4, "real": 1}, "less_sensitive"),
        (20, {"ignored": 4, "real": 1}, "less_sensitive"),
        (20, {"late": 4, "real": 1}, "more_sensitive"),
        (20, {"real": 5}, "keep"),
        (20, {"false": 2, "late": 2}, "keep"),
        (20, {"false": 1, "real": 9}, "keep"),
        (20, {"false": 2}, "keep"),
        (4, {"false": 4}, "keep"),
        (4, {"late": 4}, "keep"),
        (20, {}, "keep"),
    ],
)
def test_direction_follows_from_what_became_of_the_alarms(runs: int, fates: dict[str, int], way: str) -> None:
    assert decide_direction(review_facts(runs, **fates)) == way


def test_opposite_facts_move_the_same_number_the_other_way() -> None:
    too_many, too_late = review_facts(20, false=4, real=1), review_facts(20, late=4, real=1)

    assert moved_value(SENSITIVITY, too_many) == 0.6
    assert moved_value(SENSITIVITY, too_late) == 1.67
    # A threshold is the opposite of a sensitivity.
    assert moved_value(THRESHOLD, too_many) == 1.67
    assert moved_value(THRESHOLD, too_late) == 0.6


def test_the_clearer_the_facts_the_further_it_moves() -> None:
    steps = [moved_value(SENSITIVITY, review_facts(20, false=false, real=10 - false)) for false in (4, 6, 8, 10)]

    assert steps == [0.8, 0.7, 0.6, 0.5]


def test_with_few_runs_nothing_moves() -> None:
    assert moved_value(SENSITIVITY, review_facts(4, false=4)) == 1.0
    assert moved_value(SENSITIVITY, review_facts(4, late=4)) == 1.0


def test_numbers_are_read_from_the_source_without_running_it() -> None:
    source = """
SENSITIVITY = 1.5
DEGRADED_ABOVE = {"error_rate": 0.02, "name": "x"}
PAUSE = 300
LOWEST: int = -4
FLAG = True
limit = 3
raise SystemExit("never run")
"""

    found = read_tunables(source)

    assert [(one.name, one.value, one.line, one.higher) for one in found] == [
        ("SENSITIVITY", 1.5, 2, "more alarms"),
        ("DEGRADED_ABOVE.error_rate", 0.02, 3, "fewer alarms"),
        ("PAUSE", 300.0, 4, "unknown"),
        ("LOWEST", -4.0, 5, "unknown"),
    ]
    assert [one.name for one in movable_tunables(found)] == ["SENSITIVITY"]
    assert [one.name for one in movable_tunables(found[1:])] == ["DEGRADED_ABOVE.error_rate"]
    assert read_tunables("def broken(:") == ()


def test_a_skill_that_fails_again_and_again_is_unwell() -> None:
    assert is_unwell(review_facts(10, failed=5))
    assert not is_unwell(review_facts(10, failed=1))
    assert not is_unwell(review_facts(4, failed=4))

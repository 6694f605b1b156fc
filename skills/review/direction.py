"""Which way a skill should move, decided from its facts alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from skills.review.facts import Facts
from skills.review.tunables import Tunable

Direction = Literal["less_sensitive", "more_sensitive", "keep"]

FEW_RUNS = 5
"""Fewer runs that ended than this say nothing."""
FEW_ALARMS = 3
"""Fewer alarms whose fate is known than this say nothing about how sensitive a skill is."""
OFTEN = 0.3
"""From this share on false or late alarms are a reason to move."""
CLEAR = 0.15
"""By so much one of the two shares must be ahead of the other."""
UNWELL = 0.8
"""A success rate below this, with one error coming again, is a reason to change the code."""


def enough(facts: Facts) -> bool:
    return facts.ended >= FEW_RUNS


def too_few(facts: Facts) -> str:
    """Why nothing is proposed where `enough` says no."""
    ended = {0: "no run has", 1: "only 1 run has"}.get(facts.ended, f"only {facts.ended} runs have")
    return f"{ended} ended; {FEW_RUNS} are the least to judge by"


def pull(facts: Facts) -> float:
    """From -1 (every alarm was false or ignored) to 1 (every alarm came too late); 0 with too few of them."""
    known = facts.false_alarms + facts.ignored + facts.late + facts.real
    if not enough(facts) or known < FEW_ALARMS:
        return 0.0
    return (facts.late_rate or 0.0) - (facts.false_alarm_rate or 0.0)


def direction(facts: Facts) -> Direction:
    """Many false alarms ask for less sensitivity, many late ones for more, and neither for none."""
    moved = pull(facts)
    if moved <= -CLEAR and (facts.false_alarm_rate or 0.0) >= OFTEN:
        return "less_sensitive"
    if moved >= CLEAR and (facts.late_rate or 0.0) >= OFTEN:
        return "more_sensitive"
    return "keep"


def is_unwell(facts: Facts) -> bool:
    return (
        enough(facts)
        and facts.success_rate is not None
        and facts.success_rate < UNWELL
        and bool(facts.repeated_failures)
    )


def movable(tunables: Sequence[Tunable]) -> tuple[Tunable, ...]:
    """The numbers of which is known what a higher value does: a sensitivity where there is one, else the limits."""
    known = [one for one in tunables if one.higher != "unknown" and one.value > 0]
    return tuple([one for one in known if one.leads] or known)


def moved(tunable: Tunable, facts: Facts) -> float:
    """The number's new value: the clearer the facts, the further, at most to half or to double."""
    way = direction(facts)
    if way == "keep" or tunable.higher == "unknown":
        return tunable.value
    factor = 1 - abs(pull(facts)) / 2
    goes_up = (way == "more_sensitive") == (tunable.higher == "more alarms")
    return rounded(tunable.value / factor if goes_up else tunable.value * factor)


def rounded(value: float) -> float:
    return float(f"{value:.3g}")

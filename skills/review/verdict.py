"""The model's verdict `skill_review`, and the check that accepts only what the facts support."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from skills.review import sensitivity
from skills.review.facts import ReviewFacts
from skills.review.sensitivity import Tunable

Measure = Literal["false_alarm_rate", "late_rate", "success_rate"]
_LONGEST = 500
_MOST_CHANGES = 8
_BETTER_IS_HIGHER = {"false_alarm_rate": False, "late_rate": False, "success_rate": True}


class NumberChange(BaseModel):
    """`constant` is named as in the facts; `value` is its new number."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    constant: str
    value: float = Field(allow_inf_nan=False)


class ReviewVerdict(BaseModel):
    """`words` says a change that is no number; `expected` is the measure's value after the change."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    decision: Literal["keep", "change"]
    summary: str = ""
    sensitivity: Literal["less_sensitive", "more_sensitive", "keep"] = "keep"
    numbers: list[NumberChange] = Field(default_factory=list)
    words: str = ""
    evidence: list[str] = Field(default_factory=list)
    measure: Measure = "false_alarm_rate"
    expected: float = Field(0.0, allow_inf_nan=False)


@dataclass(frozen=True)
class ConstantChange:
    """One number of the file, before and after."""

    constant: str
    line: int
    was: float
    to: float


@dataclass(frozen=True)
class Prediction:
    """The value of a measure now, and the value expected after the change has served for a while."""

    measure: Measure
    was: float
    expected: float

    def in_words(self) -> str:
        """Describe the prediction for people."""
        return f"{self.measure.replace('_', ' ')} from {self.was:.0%} to {self.expected:.0%}"


@dataclass(frozen=True)
class Proposal:
    """A change to ask the agent for. `evidence` names runs and alarms of the facts."""

    summary: str
    way: sensitivity.Direction
    changes: tuple[ConstantChange, ...]
    words: str
    evidence: tuple[str, ...]
    prediction: Prediction

    def as_json(self) -> dict[str, Any]:
        """Return the proposal as it is stored and shown to the agent."""
        return {
            "summary": self.summary,
            "sensitivity": self.way,
            "changes": [{"constant": c.constant, "line": c.line, "from": c.was, "to": c.to} for c in self.changes],
            "words": self.words,
            "evidence": list(self.evidence),
            "prediction": {
                "measure": self.prediction.measure,
                "was": self.prediction.was,
                "expected": self.prediction.expected,
            },
        }


@dataclass(frozen=True)
class NoProposal:
    """No change is asked for, with the reason."""

    reason: str


def check_verdict(verdict: ReviewVerdict, facts: ReviewFacts, tunables: Sequence[Tunable]) -> Proposal | NoProposal:
    """Return the proposal on which facts and verdict agree.

    The direction must be the one computed from the facts, and the evidence must name at least one entry of them;
    otherwise nothing is proposed. Numbers move in that direction, to between half and double.
    """
    if not sensitivity.has_enough_runs(facts):
        return NoProposal(sensitivity.too_few_runs_reason(facts))
    if verdict.decision == "keep":
        return NoProposal(verdict.summary[:_LONGEST] or "nothing needs to change")
    way = sensitivity.decide_direction(facts)
    if verdict.sensitivity != way:
        return NoProposal(f"the verdict says {verdict.sensitivity}, the outcomes say {way}")
    evidence = tuple(dict.fromkeys(one for one in verdict.evidence if one in facts.refs()))
    if not evidence:
        return NoProposal("the verdict names no run and no answer of the facts as evidence")
    changes = _moved_constants(verdict, facts, tunables, way)
    words = verdict.words.strip()[:_LONGEST]
    if way == "keep" and not sensitivity.is_unwell(facts):
        return NoProposal("neither the outcomes nor the failures give a reason to change it")
    if not changes and not words:
        return NoProposal("the verdict names no change that can be made")
    summary = verdict.summary.strip()[:_LONGEST]
    return Proposal(summary, way, changes, words, evidence, _prediction(verdict, facts, way))


def _moved_constants(
    verdict: ReviewVerdict, facts: ReviewFacts, tunables: Sequence[Tunable], way: sensitivity.Direction
) -> tuple[ConstantChange, ...]:
    known = {one.name: one for one in sensitivity.movable_tunables(tunables)}
    found: dict[str, ConstantChange] = {}
    for wanted in verdict.numbers[:_MOST_CHANGES]:
        tunable = known.get(wanted.constant)
        if tunable is None or way == "keep" or wanted.constant in found:
            continue
        goes_up = (way == "more_sensitive") == (tunable.higher == "more alarms")
        if wanted.value == tunable.value or (wanted.value > tunable.value) != goes_up:
            # The wrong direction: take the number computed from the facts.
            to = sensitivity.moved_value(tunable, facts)
        else:
            to = min(max(wanted.value, tunable.value / 2), tunable.value * 2)
        found[wanted.constant] = ConstantChange(tunable.name, tunable.line, tunable.value, sensitivity.round_value(to))
    return tuple(change for change in found.values() if change.to != change.was and math.isfinite(change.to))


def _prediction(verdict: ReviewVerdict, facts: ReviewFacts, way: sensitivity.Direction) -> Prediction:
    """Use the verdict's prediction if it is about the right measure and expects an improvement, else a computed one."""
    measure = measure_of_direction(way)
    was = measure_now(facts, measure) or 0.0
    better = verdict.expected > was if _BETTER_IS_HIGHER[measure] else verdict.expected < was
    if verdict.measure == measure and better and 0 <= verdict.expected <= 1:
        return Prediction(measure, was, verdict.expected)
    return Prediction(measure, was, expected_value(facts, measure))


def measure_of_direction(way: sensitivity.Direction) -> Measure:
    """Return the measure that judges a change in this direction."""
    match way:
        case "less_sensitive":
            return "false_alarm_rate"
        case "more_sensitive":
            return "late_rate"
        case "keep":
            return "success_rate"


def measure_now(facts: ReviewFacts, measure: Measure) -> float | None:
    """Return the measure's value in the facts; None if there was nothing to measure."""
    match measure:
        case "false_alarm_rate":
            return facts.false_alarm_rate
        case "late_rate":
            return facts.late_rate
        case "success_rate":
            return facts.success_rate


def expected_value(facts: ReviewFacts, measure: Measure) -> float:
    """Return the value expected of a change: half way from the present value to the best."""
    was = measure_now(facts, measure) or 0.0
    return round((1 + was) / 2 if _BETTER_IS_HIGHER[measure] else was / 2, 4)

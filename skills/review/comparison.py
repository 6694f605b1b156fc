"""Compare the prediction for a change with what has happened since."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from skills.review import sensitivity
from skills.review.facts import ReviewFacts
from skills.review.verdict import Measure, Prediction, measure_now

_CLOSE_TO_EXPECTED = 0.1
"""A rate this close to the expected one counts as reached."""


@dataclass(frozen=True)
class Comparison:
    """A prediction beside what happened.

    `outcome` is `kept`, `better` (than before, not as good as predicted), `worse`, `too_few` or `never_served`.
    """

    review_id: str
    prediction: Prediction
    outcome: str
    happened: float | None

    def as_json(self) -> dict[str, Any]:
        """Return the comparison as it is stored."""
        return {
            "review_id": self.review_id,
            "measure": self.prediction.measure,
            "was": self.prediction.was,
            "expected": self.prediction.expected,
            "happened": self.happened,
            "outcome": self.outcome,
        }

    def in_words(self) -> str:
        """Describe the comparison in a sentence for people."""
        what = self.prediction.measure.replace("_", " ")
        said = f"{what} was {_percent(self.prediction.was)} and should become {_percent(self.prediction.expected)}"
        match self.outcome:
            case "never_served":
                return f"{said}; the change never came to serve."
            case "too_few":
                return f"{said}; too little has happened since to tell."
            case _:
                return f"{said}; it is {_percent(self.happened or 0.0)} since: {_VERDICTS[self.outcome]}."


_VERDICTS = {"kept": "as predicted", "better": "better, but less than predicted", "worse": "no better"}


def compare_prediction(review_id: str, prediction: Prediction, served: bool, since: ReviewFacts) -> Comparison:
    """Compare a prediction with the facts since the change; `served` is false for a change that never served."""
    if not served:
        return Comparison(review_id, prediction, "never_served", None)
    quiet = prediction.measure == "false_alarm_rate" and not since.alarms and sensitivity.has_enough_runs(since)
    # Without any alarm there was no false one.
    happened = 0.0 if quiet else measure_now(since, prediction.measure)
    if happened is None or not (quiet or _is_enough_to_tell(since, prediction.measure)):
        return Comparison(review_id, prediction, "too_few", happened)
    higher_is_better = prediction.expected > prediction.was
    short = (prediction.expected - happened) if higher_is_better else (happened - prediction.expected)
    gained = (happened - prediction.was) if higher_is_better else (prediction.was - happened)
    outcome = "kept" if short <= _CLOSE_TO_EXPECTED else "better" if gained > _CLOSE_TO_EXPECTED / 2 else "worse"
    return Comparison(review_id, prediction, outcome, happened)


def read_prediction(stored: Mapping[str, Any]) -> Prediction:
    """Read a prediction from its stored JSON."""
    return Prediction(stored["measure"], float(stored["was"]), float(stored["expected"]))


def _is_enough_to_tell(since: ReviewFacts, measure: Measure) -> bool:
    if measure == "success_rate":
        return sensitivity.has_enough_runs(since)
    return since.answered + since.ignored >= sensitivity.FEW_ALARMS


def _percent(share: float) -> str:
    return f"{share:.0%}"

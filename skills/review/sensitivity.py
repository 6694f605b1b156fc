"""Numbers at the top of a skill file that a review may move, and which way its facts say to move them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from skills.review.facts import ReviewFacts

_CONSTANT_NAME = re.compile(r"[A-Z][A-Z0-9_]*")
# How the name of a constant tells what a higher value does: `SENSITIVITY` alarms more, `…_ABOVE` alarms less.
_MORE = re.compile(r"SENSITIV|BELOW|MINIMUM|_MIN\b|^MIN_")
_LESS = re.compile(r"THRESHOLD|LIMIT|ABOVE|TOLERAN|MAXIMUM|DEGRADED|CRITICAL|ALARM|_MAX\b|^MAX_")


@dataclass(frozen=True)
class Tunable:
    """`name` is the constant's, with `.key` for a number in a dict. `higher` is what a higher value does."""

    name: str
    value: float
    line: int
    higher: str

    @property
    def leads(self) -> bool:
        """A number that stands for all limits at once."""
        return "SENSITIV" in self.name


def read_tunables(source: str) -> tuple[Tunable, ...]:
    """Every constant of the module that is a number, or a dict of numbers, in their order; none of a broken file."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    return tuple(found for statement in tree.body for found in _tunables_of(statement))


def _tunables_of(statement: ast.stmt) -> Iterator[Tunable]:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            pass
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            pass
        case _:
            return
    if not _CONSTANT_NAME.fullmatch(name):
        return
    if (number := _number(value)) is not None:
        yield Tunable(name, number, statement.lineno, _higher(name))
    elif isinstance(value, ast.Dict):
        for key, item in zip(value.keys, value.values, strict=True):
            number = _number(item)
            if isinstance(key, ast.Constant) and isinstance(key.value, str) and number is not None:
                yield Tunable(f"{name}.{key.value}", number, item.lineno, _higher(name))


def _number(node: ast.expr) -> float | None:
    match node:
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int() | float() as value):
            return float(value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -float(value)
        case _:
            return None


def _higher(name: str) -> str:
    if _MORE.search(name):
        return "more alarms"
    return "fewer alarms" if _LESS.search(name) else "unknown"


Direction = Literal["less_sensitive", "more_sensitive", "keep"]

FEW_RUNS = 5
"""Fewer runs that ended than this say nothing."""
FEW_ALARMS = 3
"""Fewer alarms whose fate is known than this say nothing about how sensitive a skill is."""
OFTEN_FROM = 0.3
"""From this share on false or late alarms are a reason to move."""
CLEAR_LEAD = 0.15
"""By so much one of the two shares must be ahead of the other."""
UNWELL_BELOW = 0.8
"""A success rate below this, with one error coming again, is a reason to change the code."""


def has_enough_runs(facts: ReviewFacts) -> bool:
    return facts.ended >= FEW_RUNS


def too_few_runs_reason(facts: ReviewFacts) -> str:
    """Why nothing is proposed where `enough` says no."""
    ended = {0: "no run has", 1: "only 1 run has"}.get(facts.ended, f"only {facts.ended} runs have")
    return f"{ended} ended; {FEW_RUNS} are the least to judge by"


def sensitivity_pull(facts: ReviewFacts) -> float:
    """From -1 (every alarm was false or ignored) to 1 (every alarm came too late); 0 with too few of them."""
    known = facts.false_alarms + facts.ignored + facts.late + facts.real
    if not has_enough_runs(facts) or known < FEW_ALARMS:
        return 0.0
    return (facts.late_rate or 0.0) - (facts.false_alarm_rate or 0.0)


def decide_direction(facts: ReviewFacts) -> Direction:
    """Many false alarms ask for less sensitivity, many late ones for more, and neither for none."""
    moved = sensitivity_pull(facts)
    if moved <= -CLEAR_LEAD and (facts.false_alarm_rate or 0.0) >= OFTEN_FROM:
        return "less_sensitive"
    if moved >= CLEAR_LEAD and (facts.late_rate or 0.0) >= OFTEN_FROM:
        return "more_sensitive"
    return "keep"


def is_unwell(facts: ReviewFacts) -> bool:
    return (
        has_enough_runs(facts)
        and facts.success_rate is not None
        and facts.success_rate < UNWELL_BELOW
        and bool(facts.repeated_failures)
    )


def movable_tunables(tunables: Sequence[Tunable]) -> tuple[Tunable, ...]:
    """The numbers of which is known what a higher value does: a sensitivity where there is one, else the limits."""
    known = [one for one in tunables if one.higher != "unknown" and one.value > 0]
    return tuple([one for one in known if one.leads] or known)


def moved_value(tunable: Tunable, facts: ReviewFacts) -> float:
    """The number's new value: the clearer the facts, the further, at most to half or to double."""
    way = decide_direction(facts)
    if way == "keep" or tunable.higher == "unknown":
        return tunable.value
    factor = 1 - abs(sensitivity_pull(facts)) / 2
    goes_up = (way == "more_sensitive") == (tunable.higher == "more alarms")
    return round_value(tunable.value / factor if goes_up else tunable.value * factor)


def round_value(value: float) -> float:
    return float(f"{value:.3g}")

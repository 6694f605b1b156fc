"""Find the numbers in a skill file that a review may move, and decide from the facts which way."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from skills.review.facts import ReviewFacts

_CONSTANT_NAME = re.compile(r"[A-Z][A-Z0-9_]*")
# The name of a constant says what a higher value does: `SENSITIVITY` alarms more, `…_ABOVE` alarms less.
_MORE = re.compile(r"SENSITIV|BELOW|MINIMUM|_MIN\b|^MIN_")
_LESS = re.compile(r"THRESHOLD|LIMIT|ABOVE|TOLERAN|MAXIMUM|DEGRADED|CRITICAL|ALARM|_MAX\b|^MAX_")


@dataclass(frozen=True)
class Tunable:
    """A movable number.

    `name` is that of the constant, with `.key` for a number in a dict. `higher` says what a higher value does:
    `more alarms`, `fewer alarms` or `unknown`.
    """

    name: str
    value: float
    line: int
    higher: str

    @property
    def leads(self) -> bool:
        """Whether this number scales all limits at once."""
        return "SENSITIV" in self.name


def read_tunables(source: str) -> tuple[Tunable, ...]:
    """Return the module's constants that are numbers or dicts of numbers, in file order; none of a broken file."""
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
"""Ended runs from which facts can be judged."""
FEW_ALARMS = 3
"""Answered or ignored alarms from which the sensitivity can be judged."""
OFTEN_FROM = 0.3
"""Share of false or late alarms from which a change is due."""
CLEAR_LEAD = 0.15
"""Lead that one of the two shares must have over the other."""
UNWELL_BELOW = 0.8
"""A success rate below this, with a repeated error, is a reason to change the code."""


def has_enough_runs(facts: ReviewFacts) -> bool:
    """Return whether enough runs have ended to judge the skill."""
    return facts.ended >= FEW_RUNS


def too_few_runs_reason(facts: ReviewFacts) -> str:
    """Return why nothing is proposed when `has_enough_runs` is false."""
    ended = {0: "no run has", 1: "only 1 run has"}.get(facts.ended, f"only {facts.ended} runs have")
    return f"{ended} ended; {FEW_RUNS} are the least to judge by"


def sensitivity_pull(facts: ReviewFacts) -> float:
    """Return from -1 (all alarms false or ignored) to 1 (all too late); 0 with too few runs or alarms."""
    known = facts.false_alarms + facts.ignored + facts.late + facts.real
    if not has_enough_runs(facts) or known < FEW_ALARMS:
        return 0.0
    return (facts.late_rate or 0.0) - (facts.false_alarm_rate or 0.0)


def decide_direction(facts: ReviewFacts) -> Direction:
    """Return the direction: less sensitive after many false alarms, more sensitive after many late ones."""
    moved = sensitivity_pull(facts)
    if moved <= -CLEAR_LEAD and (facts.false_alarm_rate or 0.0) >= OFTEN_FROM:
        return "less_sensitive"
    if moved >= CLEAR_LEAD and (facts.late_rate or 0.0) >= OFTEN_FROM:
        return "more_sensitive"
    return "keep"


def is_unwell(facts: ReviewFacts) -> bool:
    """Return whether runs fail often and with a repeated error."""
    return (
        has_enough_runs(facts)
        and facts.success_rate is not None
        and facts.success_rate < UNWELL_BELOW
        and bool(facts.repeated_failures)
    )


def movable_tunables(tunables: Sequence[Tunable]) -> tuple[Tunable, ...]:
    """Return the numbers a review may move: the sensitivity if there is one, else the limits."""
    known = [one for one in tunables if one.higher != "unknown" and one.value > 0]
    return tuple([one for one in known if one.leads] or known)


def moved_value(tunable: Tunable, facts: ReviewFacts) -> float:
    """Return the new value of a number: the clearer the facts, the further it moves, at most to half or double."""
    way = decide_direction(facts)
    if way == "keep" or tunable.higher == "unknown":
        return tunable.value
    factor = 1 - abs(sensitivity_pull(facts)) / 2
    goes_up = (way == "more_sensitive") == (tunable.higher == "more alarms")
    return round_value(tunable.value / factor if goes_up else tunable.value * factor)


def round_value(value: float) -> float:
    """Round to three significant digits."""
    return float(f"{value:.3g}")

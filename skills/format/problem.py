"""Problems of a skill file, each with a reason and a fix for its author."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class SkillProblem:
    """One problem. `line` counts from 1; None if the problem has no line."""

    line: int | None
    reason: str
    fix: str


class Overreach(SkillProblem):
    """A problem of a file that reaches for something that belongs to Loopwright, the engine or another function."""


class RefusedSkillError(Exception):
    """A version is refused.

    `tried` lists what it was seen to attempt while it was loaded, see `sidecar/child/attempts.py`.
    """

    def __init__(self, *problems: SkillProblem, tried: Sequence[str] = ()) -> None:
        super().__init__("; ".join(problem.reason for problem in problems))
        self.problems = problems
        self.tried = tried

"""What is wrong with a skill file, said so that its author can act."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class SkillProblem:
    """`line` is counted from one, or None where no line can be named."""

    line: int | None
    reason: str
    fix: str


class Overreach(SkillProblem):
    """The file reaches for what belongs to somebody else."""


class RefusedSkillError(Exception):
    """A version that will not serve; `tried` is what it was seen to try while it was loaded."""

    def __init__(self, *problems: SkillProblem, tried: Sequence[str] = ()) -> None:
        super().__init__("; ".join(problem.reason for problem in problems))
        self.problems = problems
        self.tried = tried

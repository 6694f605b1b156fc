"""What a skill file sets while it is loaded: names of its own, and nothing that belongs to somebody else."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from skills.checks.hidden_names import HIDES
from skills.checks.source import Source
from skills.checks.word_list import words
from skills.problem import Problem

_OF_FILES = words("__all__ __author__ __doc__ __version__ __slots__ __match_args__ __hash__")


def wrong_target(source: Source, targets: Iterable[ast.expr]) -> Problem | None:
    """To set what belongs to somebody else is work, and may run code."""
    for target in targets:
        for one in ast.walk(target):
            if isinstance(one, ast.Attribute | ast.Subscript):
                reason = f"{source.shown(one)} is set while the file is loaded"
                return Problem(one.lineno, reason, "set names of your own only")
            if isinstance(one, ast.Name) and _is_inner(one.id):
                return Problem(one.lineno, f"{one.id} belongs to Python", HIDES)
    return None


def _is_inner(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and name not in _OF_FILES

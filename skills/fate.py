"""What became of a save: for whoever wrote a file and wants to know how far it came."""

from __future__ import annotations

from dataclasses import dataclass

from core.database import Scope
from skills import book, versions
from skills.problem import Problem
from skills.versions import Version

_TAKEN_OUT = frozenset(("quarantined", "retired", "rolled_back"))


@dataclass(frozen=True)
class Fate:
    """`state` is a version's stage, `refused` with the problems, or `unseen` while nobody has looked at the file.

    `held` tells that this content is not taken again: a save of it changes nothing.
    """

    state: str
    version: Version | None
    problems: tuple[Problem, ...]
    held: bool = False


def of_save(scope: Scope, stem: str, sha: str) -> Fate:
    """How far the content with this hash came as this skill."""
    skill = book.find(scope, stem)
    if skill is None:
        return Fate("unseen", None, ())
    version = versions.by_sha(scope, stem, sha)
    if skill.refused_sha == sha:
        state = version.stage if version is not None and version.stage in _TAKEN_OUT else "refused"
        return Fate(state, version, skill.problems, held=True)
    if version is None:
        return Fate("unseen", None, ())
    return Fate(version.stage, version, skill.problems if skill.candidate_id == version.id else ())

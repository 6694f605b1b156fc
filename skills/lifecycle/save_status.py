"""Status of a save: the stage that the content of a file has reached, and whether a shipped file was offered.

A shipped file is offered once per release; after that, the stored versions alone decide what serves.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.database import Scope
from skills.book import versions
from skills.book.skill import Skill, find_skill
from skills.book.versions import CheckedVersion
from skills.format.problem import SkillProblem

_WITHDRAWN_STAGES = frozenset(("quarantined", "retired", "rolled_back"))


@dataclass(frozen=True)
class SaveStatus:
    """Status of one file content.

    `state` is a version's stage, `refused` with the problems, or `unseen` before the sidecar has looked at the file.
    `held` is true for content that is not taken again: saving it changes nothing.
    """

    state: str
    version: CheckedVersion | None
    problems: tuple[SkillProblem, ...]
    held: bool = False


def read_save_status(scope: Scope, stem: str, sha: str) -> SaveStatus:
    """Return the status of the content with this hash as this skill."""
    skill = find_skill(scope, stem)
    if skill is None:
        return SaveStatus("unseen", None, ())
    version = versions.find_version_by_sha(scope, stem, sha)
    if skill.refused_sha == sha:
        state = version.stage if version is not None and version.stage in _WITHDRAWN_STAGES else "refused"
        return SaveStatus(state, version, skill.problems, held=True)
    if version is None:
        return SaveStatus("unseen", None, ())
    return SaveStatus(version.stage, version, skill.problems if skill.candidate_id == version.id else ())


def is_release_settled(scope: Scope, skill: Skill, sha: str) -> bool:
    """Return whether the release's file with this hash needs no further offer.

    True if it served or was refused, or if the agent's change of it serves. Only a new release changes that file.
    """
    if skill.version_id is None or skill.status == "retired":
        return False
    newest = versions.find_newest_shipped(scope, skill.id)
    had_its_turn = newest is not None and (newest.active_at is not None or newest.stage == "refused")
    if newest is not None and newest.sha == sha and had_its_turn:
        return True
    return _find_changed_version(scope, versions.get_version(scope, skill.version_id)).sha == sha


def _find_changed_version(scope: Scope, version: CheckedVersion) -> CheckedVersion:
    """Follow the agent's versions back to the version that they change; another version is returned as it is."""
    while version.author == "agent" and version.parent_id is not None:
        version = versions.get_version(scope, version.parent_id)
    return version

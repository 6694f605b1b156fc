"""What a shipped file says of its skill: it is offered once, and from then on the book alone says what serves."""

from __future__ import annotations

from core.database import Scope
from skills import versions
from skills.book import Skill
from skills.versions import Version


def is_taken(scope: Scope, skill: Skill, sha: str) -> bool:
    """Whether the release's file with this hash has had its turn: it served or was turned down, or what serves is the
    agent's change of it. Nobody but a new release changes the file, so it says nothing new.
    """
    if skill.version_id is None or skill.status == "retired":
        return False
    newest = versions.newest_shipped(scope, skill.id)
    had_its_turn = newest is not None and (newest.active_at is not None or newest.stage == "refused")
    if newest is not None and newest.sha == sha and had_its_turn:
        return True
    return _changed(scope, versions.get(scope, skill.version_id)).sha == sha


def _changed(scope: Scope, version: Version) -> Version:
    """What a version of the agent's is a change of, however many of its own lie between; another one is its own."""
    while version.author == "agent" and version.parent_id is not None:
        version = versions.get(scope, version.parent_id)
    return version

"""What bore a skill's name before it was taken away: it is another skill, and this one inherits nothing of it."""

from __future__ import annotations

from core.database import Scope
from skills import grants
from skills.tables import skill_versions

_SERVED = ("superseded", "rolled_back", "quarantined")


def leave_behind(scope: Scope, stem: str) -> None:
    """Nothing that a person granted it holds, and no version of it serves again by itself or tells how a change does.

    A person may still go back to one of them.
    """
    grants.forget(scope, stem)
    old = (skill_versions.c.skill_id == stem) & skill_versions.c.stage.in_(_SERVED)
    scope.change(scope.update(skill_versions).where(old).values(stage="retired"))

"""What stands in the skills' book under the id of a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.database import Scope
from skills.tables import skill_versions


def of_call(scope: Scope, call_id: str) -> Sequence[Mapping[str, Any]]:
    """The versions that it wrote."""
    mine = scope.select(skill_versions).where(skill_versions.c.author_ref == call_id)
    return [
        {"kind": "skill_version", "id": row.id, "skill_id": row.skill_id, "version": row.number, "stage": row.stage}
        for row in scope.rows(mine.order_by(skill_versions.c.number))
    ]

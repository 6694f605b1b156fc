"""Drafts: announce who saves a file or changes a shipped skill, why, and based on which version."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from core.database import Scope
from core.errors import RefusedError
from skills.book import versions
from skills.tables import skill_drafts

EDITS_PER_DAY = 5


@dataclass(frozen=True)
class SkillDraft:
    """An announced save. `author_ref` names what wrote it, such as a call of the agent; `base_id` is the version read.

    `source` is set for a change of a shipped skill that is not yet a version: no file holds that text.
    """

    skill_id: str
    sha: str
    author: str
    author_ref: str
    reason: str
    base_id: str | None
    source: str | None
    created_at: datetime


def announce_save(
    scope: Scope,
    *,
    skill_id: str,
    sha: str,
    author: str,
    author_ref: str,
    reason: str,
    base_id: str | None,
    per_day: int = EDITS_PER_DAY,
    source: str | None = None,
) -> SkillDraft:
    """Record the author of a save before the file is written; a save without an announcement is a person's.

    Announcing the same text again with the same `author_ref` updates the draft. Raises RefusedError when the agent has
    written this skill `per_day` times within a day. Repeated texts count too, or it could alternate between two texts.
    """
    same = _of_save(skill_id, sha) & (skill_drafts.c.author_ref == author_ref)
    values = {"author": author, "reason": reason, "base_id": base_id, "source": source}
    if scope.change(scope.update(skill_drafts).where(same).values(**values)) == 0:
        if author == "agent" and count_agent_saves(scope, skill_id, scope.now - timedelta(days=1)) >= per_day:
            raise RefusedError(
                f"{skill_id} was changed {per_day} times by the agent within a day; change it tomorrow, or ask a person"
            )
        scope.insert(skill_drafts, skill_id=skill_id, sha=sha, author_ref=author_ref, created_at=scope.now, **values)
    found = find_draft(scope, skill_id, sha)
    assert found is not None
    return found


def find_draft(scope: Scope, stem: str, sha: str) -> SkillDraft | None:
    """Return the last announcement of this text."""
    query = scope.select(skill_drafts).where(_of_save(stem, sha))
    row = scope.first(query.order_by(skill_drafts.c.created_at.desc(), skill_drafts.c.author_ref.desc()).limit(1))
    return None if row is None else _as_draft(row)


def find_fresh_draft(scope: Scope, stem: str, sha: str) -> SkillDraft | None:
    """Return the announcement of the save that is being processed; None if a person made it.

    An announcement from before a version of this text was stored, or last served, belongs to that version: when the
    same text is saved again without an announcement, a person saved it.
    """
    draft, known = find_draft(scope, stem, sha), versions.find_version_by_sha(scope, stem, sha)
    if draft is None or known is None or draft.source is not None:
        return draft
    return draft if draft.created_at > (known.active_at or known.created_at) else None


def find_pending_change(scope: Scope, stem: str) -> SkillDraft | None:
    """Return the oldest change of a shipped skill that is not yet a version."""
    query = scope.select(skill_drafts).where(skill_drafts.c.skill_id == stem, skill_drafts.c.source.is_not(None))
    row = scope.first(query.order_by(skill_drafts.c.created_at, skill_drafts.c.sha).limit(1))
    return None if row is None else _as_draft(row)


def close_draft(scope: Scope, draft: SkillDraft) -> None:
    """Clear the source of a draft that became a version or was refused, unless it was announced again by another."""
    ours = _of_save(draft.skill_id, draft.sha) & (skill_drafts.c.author_ref == draft.author_ref)
    scope.change(scope.update(skill_drafts).where(ours).values(source=None))


def count_agent_saves(scope: Scope, stem: str, since: datetime) -> int:
    """Count how often the agent wrote this skill since then."""
    count = scope.select(sa.func.count(skill_drafts.c.sha).label("n")).where(
        skill_drafts.c.skill_id == stem, skill_drafts.c.author == "agent", skill_drafts.c.created_at > since
    )
    return int(scope.scalar(count) or 0)


def _of_save(stem: str, sha: str) -> sa.ColumnElement[bool]:
    return (skill_drafts.c.skill_id == stem) & (skill_drafts.c.sha == sha)


def _as_draft(row: sa.Row[Any]) -> SkillDraft:
    fields = dict(row._mapping)
    fields.pop("workspace_id")
    return SkillDraft(**fields)

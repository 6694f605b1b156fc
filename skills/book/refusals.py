"""Refusals: requests of a skill that were denied, recorded for its author, the review and ops."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

import sqlalchemy as sa

from core.database import Scope
from skills.tables import skill_refusals

RefusalKind = Literal[
    "host",
    "event",
    "invoke",
    "wait",
    "gateway",
    "secret",
    "notify",
    "model",
    "memory",
    "ask_agent",
    "spend",
    "limit",
    "op",
    "registration",
    "claim",
    "run",
    "loading",
    "attempt",
    "ended",
]
LONGEST_DETAIL = 1000
MOST_AN_HOUR = 200
"""Refusals stored per skill and hour, so that a skill in a loop does not fill the database."""


@dataclass(frozen=True)
class SkillRefusal:
    """One denied request. `what` is its kind; `detail` explains it to a person."""

    id: str
    skill_id: str
    version_id: str | None
    run_id: str | None
    what: str
    detail: str
    at: datetime


def record_refusal(
    scope: Scope, *, skill_id: str, version_id: str | None, run_id: str | None, what: RefusalKind, detail: str
) -> str | None:
    """Store a refusal and return its id; None if the skill had too many within the hour."""
    if _within_an_hour(scope, skill_id) >= MOST_AN_HOUR:
        return None
    refusal_id = scope.ids.new("refusal")
    scope.insert(
        skill_refusals,
        id=refusal_id,
        skill_id=skill_id,
        version_id=version_id,
        run_id=run_id[:64] if run_id else None,
        what=what,
        detail=_kept(detail),
        at=scope.now,
    )
    scope.changed("skill", skill_id)
    return refusal_id


def list_refusals(scope: Scope, skill_id: str, limit: int = 50, since: datetime | None = None) -> list[SkillRefusal]:
    """List the refusals of a skill, newest first."""
    query = scope.select(skill_refusals).where(skill_refusals.c.skill_id == skill_id)
    if since is not None:
        query = query.where(skill_refusals.c.at >= since)
    newest = query.order_by(skill_refusals.c.at.desc(), skill_refusals.c.id.desc()).limit(limit)
    return [_refusal(row) for row in scope.rows(newest)]


def _within_an_hour(scope: Scope, skill_id: str) -> int:
    query = scope.select(sa.func.count(skill_refusals.c.id)).where(
        skill_refusals.c.skill_id == skill_id, skill_refusals.c.at > scope.now - timedelta(hours=1)
    )
    return int(scope.scalar(query) or 0)


def _kept(detail: str) -> str:
    # PostgreSQL stores no NUL, and neither database stores a lone surrogate.
    return detail.replace("\x00", "").encode("utf-8", "replace").decode()[:LONGEST_DETAIL]


def _refusal(row: sa.Row[Any]) -> SkillRefusal:
    fields = dict(row._mapping)
    fields.pop("workspace_id")
    return SkillRefusal(**fields)

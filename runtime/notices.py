"""Notices: news for people or ops that need no answer."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import sqlalchemy as sa

from core.database import Scope
from core.errors import NotFoundError
from core.events import Bell, NoticeRequested
from runtime.tables import notices


@dataclass(frozen=True)
class Notice:
    """A notice for a person or for ops.

    `channel` names where it is sent. `sent_at` is when it was, or when it was left to the page, for a channel without
    a webhook.
    """

    id: str
    task_id: str | None
    audience: str
    channel: str
    text: str
    cause: str
    created_at: datetime
    sent_at: datetime | None
    attempts: int


def _notice_from_row(row: sa.Row[Any]) -> Notice:
    fields = dict(row._mapping)
    fields.pop("workspace_id")
    return Notice(**fields)


def store_notice(
    scope: Scope,
    audience: Literal["person", "ops"],
    text: str,
    cause: str,
    task_id: str | None = None,
    *,
    channel: str | None = None,
) -> None:
    """Store a notice once per cause and ring to have it sent; by default to the channel named like its audience."""
    notice_id = scope.ids.new("notice")
    added = scope.insert_new(
        notices,
        id=notice_id,
        task_id=task_id,
        audience=audience,
        channel=channel or audience,
        text=text,
        cause=cause,
        created_at=scope.now,
        attempts=0,
    )
    if added:
        scope.changed("notice", notice_id)
        scope.ring(Bell(NoticeRequested(workspace_id=scope.workspace_id, notice_id=notice_id), id=notice_id))


def get_notice(scope: Scope, notice_id: str) -> Notice:
    row = scope.first(scope.select(notices).where(notices.c.id == notice_id))
    if row is None:
        raise NotFoundError(f"no notice {notice_id} in this workspace")
    return _notice_from_row(row)


def list_newest_notices(scope: Scope, limit: int = 50) -> list[Notice]:
    """List the newest notices, oldest first."""
    rows = scope.rows(scope.select(notices).order_by(notices.c.created_at.desc(), notices.c.id.desc()).limit(limit))
    return [_notice_from_row(row) for row in reversed(rows)]


def list_unsent_notices(scope: Scope, before: datetime) -> list[Notice]:
    """List notices from before a time that are still to be sent, oldest first, at most 50."""
    query = scope.select(notices).where(notices.c.sent_at.is_(None), notices.c.created_at < before)
    return [_notice_from_row(row) for row in scope.rows(query.order_by(notices.c.created_at).limit(50))]


def mark_notice_sent(scope: Scope, notice_id: str) -> None:
    """Record that a notice was sent, once."""
    sent = scope.change(
        scope.update(notices)
        .where(notices.c.id == notice_id, notices.c.sent_at.is_(None))
        .values(sent_at=scope.now, attempts=notices.c.attempts + 1)
    )
    if sent:
        scope.changed("notice", notice_id)

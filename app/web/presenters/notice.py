"""The shape of a notice to the person."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from typing_extensions import TypedDict

from app.web.presenters.values import Moment, moment, without_nulls
from core.database import Scope
from core.errors import NotFoundError
from runtime.tables import notices


class NoticeTask(TypedDict, total=False):
    task_id: str | None


class NoticeShape(NoticeTask):
    id: str
    audience: str
    text: str
    created_at: Moment


def notice_by_id(scope: Scope, notice_id: str) -> NoticeShape:
    """Return a notice's shape. Raise NotFoundError."""
    row = scope.first(scope.select(notices).where(notices.c.id == notice_id))
    if row is None:
        raise NotFoundError(f"no notice {notice_id[:80]} in this workspace")
    return notice_shape(row)


def notice_shape(row: sa.Row[Any]) -> NoticeShape:
    return {
        "id": row.id,
        "audience": row.audience,
        "text": row.text,
        "created_at": moment(row.created_at),
        **without_nulls(NoticeTask(task_id=row.task_id)),
    }

"""Old rows of skills that nobody asks for any more: claims that are over, refusals and spending of long ago."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import sqlalchemy as sa

from core import leases
from core.database import Database, Scope
from skills.tables import skill_claims, skill_refusals, skill_spending

KEPT = timedelta(days=90)
PAUSE = timedelta(hours=1)
BATCH = 500
"""Rows of one transaction; a statement takes no more parameters than that everywhere."""


def pass_over(database: Database, workspace_id: str) -> int:
    """Prune a workspace, at most once an hour whoever asks; answers how many rows went."""
    if not leases.take(database, f"prune-skills:{workspace_id}"[:64], database.ids.new("prune"), PAUSE):
        return 0
    gone = 0
    while True:
        with database.transaction(workspace_id, "pruned-skills") as scope:
            batch = sum(_prune(scope))
        gone += batch
        if batch == 0:
            return gone


def _prune(scope: Scope) -> Iterator[int]:
    old = scope.now - KEPT
    claims = scope.select(skill_claims.c.skill_id, skill_claims.c.key).where(skill_claims.c.until < scope.now)
    for row in scope.rows(claims.limit(BATCH)):
        same = (skill_claims.c.skill_id == row.skill_id) & (skill_claims.c.key == row.key)
        # It may have been claimed again since it was read.
        yield scope.change(scope.delete(skill_claims).where(same, skill_claims.c.until < scope.now))
    yield _older(scope, skill_refusals, skill_refusals.c.id, old)
    yield _older(scope, skill_spending, skill_spending.c.key, old)


def _older(scope: Scope, table: sa.Table, key: sa.Column[str], than: object) -> int:
    rows = scope.rows(scope.select(key.label("key")).where(table.c.at < than).limit(BATCH))
    keys = [row.key for row in rows]
    return scope.change(scope.delete(table).where(key.in_(keys))) if keys else 0

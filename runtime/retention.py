"""Retention: delete old stored replies to repeated requests, old changes for the event streams, and sent ops notices.

A stream that reconnects with a change number older than what is kept has to load everything again.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial

from core import leases
from core.database import Database, Scope
from core.tables import changes, replies
from runtime.tables import notices

REPLIES_KEPT = timedelta(days=2)
CHANGES_KEPT = timedelta(days=7)
NOTICES_KEPT = timedelta(days=30)
PAUSE = timedelta(hours=1)
BATCH = 500
"""Rows deleted in one transaction; more parameters in a statement are not accepted by every database."""


def prune_workspace(database: Database, workspace_id: str, notices_kept: timedelta = NOTICES_KEPT) -> int:
    """Prune a workspace, at most once an hour however often it is called; return how many rows were deleted."""
    if not leases.acquire_lease(database, f"prune:{workspace_id}"[:64], database.ids.new("prune"), PAUSE):
        return 0
    prunings = (_prune_replies, _prune_changes, partial(_prune_notices, kept=notices_kept))
    return sum(_prune_in_batches(database, workspace_id, prune) for prune in prunings)


def _prune_in_batches(database: Database, workspace_id: str, prune: Callable[[Scope], int]) -> int:
    """Prune batch by batch, so that no transaction is long."""
    deleted = 0
    while True:
        with database.transaction(workspace_id, "pruned") as scope:
            batch = prune(scope)
        deleted += batch
        if batch < BATCH:
            return deleted


def _prune_replies(scope: Scope) -> int:
    old = scope.select(replies.c.key).where(replies.c.created_at < scope.now - REPLIES_KEPT).limit(BATCH)
    keys = [row.key for row in scope.rows(old)]
    return scope.change(scope.delete(replies).where(replies.c.key.in_(keys))) if keys else 0


def _prune_changes(scope: Scope) -> int:
    """Delete old changes but the newest one, whose number tells every stream how far it has come."""
    newest = scope.scalar(scope.select(changes.c.seq).order_by(changes.c.seq.desc()).limit(1)) or 0
    before = scope.now - CHANGES_KEPT
    oldest = scope.rows(scope.select(changes.c.seq, changes.c.at).order_by(changes.c.seq).limit(BATCH))
    last = max((row.seq for row in oldest if row.at < before and row.seq < newest), default=0)
    return scope.change(scope.delete(changes).where(changes.c.seq <= last)) if last else 0


def _prune_notices(scope: Scope, kept: timedelta) -> int:
    """Delete notices sent to ops, which are kept where they were sent; notices to a person stay in the thread."""
    sent = scope.select(notices.c.id).where(notices.c.audience == "ops", notices.c.sent_at < scope.now - kept)
    ids = [row.id for row in scope.rows(sent.limit(BATCH))]
    return scope.change(scope.delete(notices).where(notices.c.id.in_(ids))) if ids else 0

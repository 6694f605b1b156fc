"""Delete old rows of skills: ended runs, schedule claims, refusals, outcomes, reviews, drafts and expired claims."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import sqlalchemy as sa

from core import leases
from core.database import Database, Scope
from skills.review.steps import REVIEW_WINDOW
from skills.tables import (
    skill_claims,
    skill_drafts,
    skill_outcomes,
    skill_refusals,
    skill_reviews,
    skill_runs,
    skill_starts,
)

PAUSE = timedelta(hours=1)
NEWEST = 20
"""Ended runs per function and version, and reviews per skill, that are kept whatever their age: they show that a
version has a history, serve to rehearse a change, and hold the prediction of an earlier review."""
BATCH = 500
"""Rows per transaction, also low enough for the parameter limit of every database."""

_Prune = Callable[[Scope, datetime], int]


def prune_skills(database: Database, workspace_id: str, kept: timedelta) -> int:
    """Delete the rows of a workspace that are older than `kept`; return how many. Works at most once an hour.

    Rows that a review still reads are kept, and so are running runs, which name the version they use.
    """
    if not leases.acquire_lease(database, f"prune-skills:{workspace_id}"[:64], database.ids.new("prune"), PAUSE):
        return 0
    return sum(_prune_in_batches(database, workspace_id, prune, max(kept, REVIEW_WINDOW)) for prune in _PRUNES)


def _prune_in_batches(database: Database, workspace_id: str, prune: _Prune, kept: timedelta) -> int:
    """Delete batch by batch, so that no transaction takes long."""
    gone = 0
    while True:
        with database.transaction(workspace_id, "pruned-skills") as scope:
            batch = prune(scope, scope.now - kept)
        gone += batch
        if batch < BATCH:
            return gone


def _prune_claims(scope: Scope, before: datetime) -> int:
    """Delete expired claims, whatever their age."""
    del before
    over = scope.select(skill_claims.c.skill_id, skill_claims.c.key).where(skill_claims.c.until < scope.now)
    gone = 0
    for row in scope.rows(over.limit(BATCH)):
        same = (skill_claims.c.skill_id == row.skill_id) & (skill_claims.c.key == row.key)
        # It may have been claimed again since it was read.
        gone += scope.change(scope.delete(skill_claims).where(same, skill_claims.c.until < scope.now))
    return gone


def _prune_runs(scope: Scope, before: datetime) -> int:
    """Delete old ended runs, but for the newest of each function and version."""
    old = sa.and_(skill_runs.c.status != "running", skill_runs.c.ended_at < before)
    groups = scope.select(skill_runs.c.version_id, skill_runs.c.function_id).where(old).distinct()
    gone = 0
    for group in scope.rows(groups):
        one = sa.and_(skill_runs.c.version_id == group.version_id, skill_runs.c.function_id == group.function_id)
        ended = scope.select(skill_runs.c.run_id).where(one, skill_runs.c.status != "running")
        newest = ended.order_by(skill_runs.c.began_at.desc(), skill_runs.c.run_id.desc()).limit(NEWEST)
        kept = [row.run_id for row in scope.rows(newest)]
        rest = scope.select(skill_runs.c.run_id).where(one, old, skill_runs.c.run_id.not_in(kept))
        gone += _delete_rows(scope, skill_runs.c.run_id, [row.run_id for row in scope.rows(rest.limit(BATCH - gone))])
        if gone >= BATCH:
            break
    return gone


def _prune_reviews(scope: Scope, before: datetime) -> int:
    """Delete old reviews that are done, but for the newest of each skill."""
    old = sa.and_(skill_reviews.c.state == "done", skill_reviews.c.at < before)
    gone = 0
    for group in scope.rows(scope.select(skill_reviews.c.skill_id).where(old).distinct()):
        one = skill_reviews.c.skill_id == group.skill_id
        newest = (
            scope.select(skill_reviews.c.id).where(one).order_by(skill_reviews.c.at.desc(), skill_reviews.c.id.desc())
        )
        kept = [row.id for row in scope.rows(newest.limit(NEWEST))]
        rest = scope.select(skill_reviews.c.id).where(one, old, skill_reviews.c.id.not_in(kept))
        gone += _delete_rows(scope, skill_reviews.c.id, [row.id for row in scope.rows(rest.limit(BATCH - gone))])
        if gone >= BATCH:
            break
    return gone


def _prune_older(key: sa.Column[str], at: sa.Column[datetime]) -> _Prune:
    """Return a function that deletes the old rows of the table with this key."""

    def prune(scope: Scope, before: datetime) -> int:
        old = scope.select(key.label("key")).where(at < before).limit(BATCH)
        return _delete_rows(scope, key, [row.key for row in scope.rows(old)])

    return prune


def _prune_starts(scope: Scope, before: datetime) -> int:
    """Delete schedule claims of past dates, which no schedule asks about again."""
    old = scope.delete(skill_starts).where(skill_starts.c.at < before)
    return scope.change(old)


def _prune_drafts(scope: Scope, before: datetime) -> int:
    """Delete old drafts; what was saved has become a version, which names its author."""
    return scope.change(scope.delete(skill_drafts).where(skill_drafts.c.created_at < before))


def _delete_rows(scope: Scope, key: sa.Column[str], keys: list[str]) -> int:
    return scope.change(scope.delete(key.table).where(key.in_(keys))) if keys else 0


_PRUNES: tuple[_Prune, ...] = (
    _prune_claims,
    _prune_runs,
    _prune_reviews,
    _prune_older(skill_refusals.c.id, skill_refusals.c.at),
    _prune_older(skill_outcomes.c.id, skill_outcomes.c.at),
    _prune_starts,
    _prune_drafts,
)

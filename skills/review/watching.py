"""What the watch does for reviews: one that is not done after a while is rung for again, and given up after a day."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

import sqlalchemy as sa

from core.database import Database, Scope
from core.errors import LoopwrightError
from runtime import notices
from skills.review import rows
from skills.review.rows import Review

log = logging.getLogger(__name__)
GIVEN_UP = timedelta(days=1)


def pass_over(database: Database, workspace_id: str, patience: timedelta) -> int:
    """One pass over a workspace; answers how many reviews were rung for or given up. Never raises for a single one."""
    with database.reading(workspace_id) as scope:
        waiting = rows.undone_since(scope, scope.now - patience)
    return sum(_repair(database, workspace_id, review, patience) for review in waiting)


def _repair(database: Database, workspace_id: str, review: Review, patience: timedelta) -> int:
    try:
        with database.transaction(workspace_id, "watch.repaired") as scope:
            if review.at < scope.now - GIVEN_UP:
                _give_up(scope, review)
            else:
                rows.ring_for(scope, review, f"{review.id}:ring-{_bucket(scope.now, review.at, patience)}")
    except (LoopwrightError, sa.exc.SQLAlchemyError) as error:
        # The others must not wait for this one; the next pass finds it again.
        log.warning("watch: %s at a review in workspace %s: %s", type(error).__name__, workspace_id, error)
        return 0
    return 1


def _give_up(scope: Scope, review: Review) -> None:
    reason = "the review was taken up for a day and did not come to an end"
    if rows.move(scope, review.id, "done", was=review.state, verdict={**(review.verdict or {}), "reason": reason}):
        notices.store_notice(scope, "ops", f"Review of {review.skill_id}: {reason}.", f"review:{review.id}")


def _bucket(now: datetime, since: datetime, patience: timedelta) -> int:
    """A number for the bell's id, new at doubling ages: the engine drops an id it knows."""
    return int((now - since) / patience).bit_length()

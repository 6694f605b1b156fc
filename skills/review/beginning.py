"""Which reviews a run takes up: those that were asked for, and new ones where it is their time."""

from __future__ import annotations

from datetime import timedelta

from core.database import Database, Scope
from core.errors import NotFoundError
from skills import book
from skills.review import rows

MOST = 40
"""Reviews of one run; it takes four steps for each."""
RECENT = timedelta(seconds=10)
"""A bell that comes so soon after a review was asked for is that one's."""


def begin(database: Database, workspace_id: str, run_id: str, skill_id: str = "") -> list[str]:
    """The ids of the reviews that this run does: of the named skill, else of every one that serves.

    A skill that nobody knows, and one whose review was done a moment ago, has none.
    """
    with database.reading(workspace_id) as scope:
        stems = [skill_id] if skill_id else [skill.id for skill in book.listing(scope) if skill.serves]
    found: list[str] = []
    for stem in stems[:MOST]:
        with database.transaction(workspace_id, "review.requested") as scope:
            review_id = _taken_up(scope, stem, run_id)
        if review_id is not None:
            found.append(review_id)
    return found


def _taken_up(scope: Scope, stem: str, run_id: str) -> str | None:
    waiting = rows.open_of(scope, stem)
    if waiting is not None:
        return waiting.id
    if rows.newest_done(scope, stem, RECENT) is not None:
        return None
    try:
        return rows.request(scope, stem, f"run:{run_id}:{stem}", ring=False).id
    except NotFoundError:
        return None

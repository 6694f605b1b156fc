"""Which reviews a run takes up: those that were asked for, and new ones where it is their time."""

from __future__ import annotations

from datetime import timedelta

from core.database import Database, Scope
from core.errors import NotFoundError
from skills import book
from skills.review import rows

MOST = 40
"""Reviews of one run; it takes four steps for each. The rest are rung for, each in a run of its own."""
RECENT = timedelta(seconds=10)
"""A bell that comes so soon after a review was asked for is that one's."""


def begin(database: Database, workspace_id: str, run_id: str, skill_id: str = "") -> list[str]:
    """The ids of the reviews that this run does: of the named skill, else of those that serve.

    Those whose last review is longest ago come first; beyond `MOST` they are asked for. A skill that nobody knows, and
    one whose review was done a moment ago, has none.
    """
    with database.reading(workspace_id) as scope:
        stems = [skill_id] if skill_id else _in_turn(scope)
    found: list[str] = []
    for n, stem in enumerate(stems):
        with database.transaction(workspace_id, "review.requested") as scope:
            review_id = _taken_up(scope, stem, run_id, ring=n >= MOST)
        if review_id is not None and n < MOST:
            found.append(review_id)
    return found


def _in_turn(scope: Scope) -> list[str]:
    """Every skill that serves, the one whose last review is longest ago first."""
    last = rows.last_done(scope)
    stems = [skill.id for skill in book.listing(scope) if skill.serves]
    return sorted(stems, key=lambda stem: (stem in last, last.get(stem, scope.now), stem))


def _taken_up(scope: Scope, stem: str, run_id: str, *, ring: bool) -> str | None:
    waiting = rows.open_of(scope, stem)
    if waiting is not None:
        return waiting.id
    if rows.newest_done(scope, stem, RECENT) is not None:
        return None
    try:
        return rows.request(scope, stem, f"run:{run_id}:{stem}", ring=ring).id
    except NotFoundError:
        return None

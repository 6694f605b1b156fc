"""Claims: one run of a skill holds a key, by a row and for a time."""

from __future__ import annotations

from datetime import timedelta

import sqlalchemy as sa

from core.database import Scope
from core.errors import InvalidError
from skills.tables import skill_claims, skill_runs

LONGEST_KEY = 200
LONGEST = timedelta(days=7)
MOST = 500
"""Of one skill at a time: nobody had to grant them."""


def claim(scope: Scope, stem: str, key: str, run_id: str, seconds: float) -> bool:
    """Whether the run holds the key from now on, for so long; the same run may claim it again.

    A claim whose run has ended, or whose time is over, is anybody's. Raises InvalidError, also where the skill holds
    too many.
    """
    _check(key, seconds)
    _make_room(scope, stem, key)
    until = scope.now + timedelta(seconds=seconds)
    if scope.insert_new(skill_claims, skill_id=stem, key=key, run_id=run_id, until=until):
        return True
    row = scope.first(
        scope.select(skill_claims).where(skill_claims.c.skill_id == stem, skill_claims.c.key == key).with_for_update()
    )
    if row is None:
        # It was released in between: whoever comes next begins anew.
        return scope.insert_new(skill_claims, skill_id=stem, key=key, run_id=run_id, until=until)
    if row.run_id != run_id and row.until > scope.now and _goes_on(scope, row.run_id):
        return False
    taken = (
        scope.update(skill_claims)
        .where(skill_claims.c.skill_id == stem, skill_claims.c.key == key, skill_claims.c.run_id == row.run_id)
        .values(run_id=run_id, until=until)
    )
    return scope.change(taken) == 1


def release(scope: Scope, stem: str, key: str, run_id: str) -> bool:
    """Give up the run's own claim; tells whether it held one."""
    held = (skill_claims.c.skill_id == stem) & (skill_claims.c.key == key) & (skill_claims.c.run_id == run_id)
    return scope.change(scope.delete(skill_claims).where(held)) == 1


def holder(scope: Scope, stem: str, key: str) -> str | None:
    """The run that holds the key now."""
    row = scope.first(scope.select(skill_claims).where(skill_claims.c.skill_id == stem, skill_claims.c.key == key))
    if row is None or row.until <= scope.now or not _goes_on(scope, row.run_id):
        return None
    return str(row.run_id)


def _goes_on(scope: Scope, run_id: str) -> bool:
    """Whether the run may still be at it: one that the book does not know counts until its time is over."""
    status = scope.scalar(scope.select(skill_runs.c.status).where(skill_runs.c.run_id == run_id))
    return status in (None, "running")


def _make_room(scope: Scope, stem: str, key: str) -> None:
    """Where there are too many, those that are anybody's go; raises InvalidError when the others are as many."""
    own = skill_claims.c.skill_id == stem
    if _count(scope, own & (skill_claims.c.key != key)) < MOST:
        return
    on_its_way = scope.select(skill_runs.c.run_id).where(
        skill_runs.c.skill_id == stem, skill_runs.c.status == "running"
    )
    free = (skill_claims.c.until <= scope.now) | skill_claims.c.run_id.not_in(on_its_way)
    scope.change(scope.delete(skill_claims).where(own & free))
    if _count(scope, own & (skill_claims.c.key != key)) >= MOST:
        raise InvalidError(f"a skill holds at most {MOST} claims at a time: release those that are done")


def _count(scope: Scope, which: sa.ColumnElement[bool]) -> int:
    return int(scope.scalar(scope.select(sa.func.count(skill_claims.c.key)).where(which)) or 0)


def _check(key: str, seconds: float) -> None:
    if not key or len(key) > LONGEST_KEY or "\x00" in key:
        raise InvalidError(f"a claim needs a key of 1 to {LONGEST_KEY} characters")
    if not 0 < seconds <= LONGEST.total_seconds():
        raise InvalidError("a claim lasts more than nothing and at most seven days")

"""Claims: a row per key that lets one run of a skill hold that key for a limited time."""

from __future__ import annotations

from datetime import timedelta

import sqlalchemy as sa

from core.database import Scope
from core.errors import InvalidError
from skills.tables import skill_claims, skill_runs

LONGEST_KEY = 200
LONGEST = timedelta(days=7)
MOST = 500
"""Claims that one skill may hold at a time; they need no grant, so they are limited here."""


def claim(scope: Scope, stem: str, key: str, run_id: str, seconds: float) -> bool:
    """Let the run hold the key for `seconds`; return False while another run holds it. A run may renew its claim.

    A claim is free once its run has ended or its time is over. Raises InvalidError for a bad key or duration, and when
    the skill holds too many claims.
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
        # It was released in between.
        return scope.insert_new(skill_claims, skill_id=stem, key=key, run_id=run_id, until=until)
    if row.run_id != run_id and row.until > scope.now and _may_be_running(scope, row.run_id):
        return False
    taken = (
        scope.update(skill_claims)
        .where(skill_claims.c.skill_id == stem, skill_claims.c.key == key, skill_claims.c.run_id == row.run_id)
        .values(run_id=run_id, until=until)
    )
    return scope.change(taken) == 1


def release(scope: Scope, stem: str, key: str, run_id: str) -> bool:
    """Release the run's own claim; return whether it held one."""
    held = (skill_claims.c.skill_id == stem) & (skill_claims.c.key == key) & (skill_claims.c.run_id == run_id)
    return scope.change(scope.delete(skill_claims).where(held)) == 1


def holder(scope: Scope, stem: str, key: str) -> str | None:
    """Return the id of the run that holds the key now."""
    row = scope.first(scope.select(skill_claims).where(skill_claims.c.skill_id == stem, skill_claims.c.key == key))
    if row is None or row.until <= scope.now or not _may_be_running(scope, row.run_id):
        return None
    return str(row.run_id)


def _may_be_running(scope: Scope, run_id: str) -> bool:
    """Return whether the run may still be running; an unknown run counts until the claim expires."""
    status = scope.scalar(scope.select(skill_runs.c.status).where(skill_runs.c.run_id == run_id))
    return status in (None, "running")


def _make_room(scope: Scope, stem: str, key: str) -> None:
    """Delete free claims when there are too many; raises InvalidError when too many are still held."""
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
        raise InvalidError("a claim must last longer than 0 seconds and at most seven days")

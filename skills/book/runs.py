"""Runs of skills: the version each began on, how it ended, and rates over time."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import sqlalchemy as sa

from core.database import Scope
from skills.tables import skill_runs, skill_versions

MAX_JSON_BYTES = 64 * 1024
"""Largest event, output or error that is stored whole, in bytes; of a larger one only the beginning is stored."""

UNSERVED = "unserved"
"""The stage of a run that ended while no process served the skill."""
LIMITED = "limited"
"""The stage of a run that failed while its skill had reached a spending limit."""
SKIPPED = "skipped"
"""The stage of a run that was ended before the skill was called, because its schedule had already run."""
_NEVER_RAN = (UNSERVED, SKIPPED)

EndStatus = Literal["completed", "failed", "cancelled", "lost"]


@dataclass(frozen=True)
class SkillRun:
    """One run of a function; `status` is `running` or how it ended.

    `stage` is one of:
    `live`: on the version that serves;
    `canary`: on a candidate;
    `unserved`: it ended before the skill was called, or the engine gave up because no process answered;
    `limited`: it failed while its skill had reached a spending limit;
    `skipped`: its schedule had already run, so it ended before it began.
    Unserved and limited runs belong to their version but say nothing about its quality; skipped ones count nowhere.

    `handler` is true for a function that handles another function's failures (`on_failure`); its runs do not count.
    """

    run_id: str
    skill_id: str
    function_id: str
    version_id: str
    handler: bool
    stage: str
    status: str
    attempts: int
    event: Mapping[str, Any]
    output: Any
    error: Any
    began_at: datetime
    called_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True)
class RunRates:
    """How runs ended since a moment. `success` is completed / (completed + failed), None if there is neither."""

    completed: int
    failed: int
    other: int
    success: float | None
    median_seconds: float | None
    retries: int

    @property
    def ended(self) -> int:
        """How many runs ended."""
        return self.completed + self.failed + self.other


def record_run_start(
    scope: Scope,
    *,
    run_id: str,
    skill_id: str,
    function_id: str,
    version_id: str,
    stage: str,
    event: Mapping[str, Any],
    handler: bool = False,
) -> SkillRun:
    """Enter a run with the version it keeps until it ends; a run that is known keeps its first version."""
    scope.insert_new(
        skill_runs,
        run_id=run_id,
        skill_id=skill_id,
        function_id=function_id,
        version_id=version_id,
        handler=handler,
        stage=stage,
        status="running",
        attempts=0,
        event=cut_json(dict(event)),
        began_at=scope.now,
        called_at=scope.now,
    )
    found = find_run(scope, run_id)
    assert found is not None
    return found


def find_run(scope: Scope, run_id: str) -> SkillRun | None:
    """Return a run, None if it is unknown."""
    row = scope.first(scope.select(skill_runs).where(skill_runs.c.run_id == run_id))
    return None if row is None else _as_run(row)


def record_run_call(scope: Scope, run_id: str) -> None:
    """Record that the engine has just called the function for this run."""
    scope.change(scope.update(skill_runs).where(skill_runs.c.run_id == run_id).values(called_at=scope.now))


def goes_on(scope: Scope, run_id: str) -> None:
    """Mark an ended run as running again, because the engine continues it. A cancelled run stays cancelled."""
    before = (skill_runs.c.run_id == run_id) & skill_runs.c.status.in_(("completed", "failed", "lost"))
    values = {"status": "running", "output": None, "error": None, "ended_at": None}
    scope.change(scope.update(skill_runs).where(before).values(**values))


def record_run_end(
    scope: Scope,
    run_id: str,
    status: EndStatus,
    *,
    output: Any = None,
    error: Any = None,
    attempts: int = 0,
    at: datetime | None = None,
    was: str = "running",
    stage: str | None = None,
) -> bool:
    """Record how a run ended, now or `at` a moment; return False if its status is not `was` or it is unknown."""
    before = (skill_runs.c.run_id == run_id) & (skill_runs.c.status == was)
    values = {"status": status, "output": cut_json(output), "error": cut_json(error), "attempts": attempts}
    if stage is not None:
        values["stage"] = stage
    return scope.change(scope.update(skill_runs).where(before).values(ended_at=at or scope.now, **values)) == 1


def record_unseen_run(
    scope: Scope,
    *,
    run_id: str,
    skill_id: str,
    function_id: str,
    version_id: str,
    event: Mapping[str, Any],
    status: EndStatus,
    output: Any,
    error: Any,
    attempts: int,
    began_at: datetime,
    ended_at: datetime,
    handler: bool = False,
) -> bool:
    """Store an ended run that never reached the skill, once; return False if it is known."""
    return scope.insert_new(
        skill_runs,
        run_id=run_id,
        skill_id=skill_id,
        function_id=function_id,
        version_id=version_id,
        handler=handler,
        stage=UNSERVED,
        status=status,
        attempts=attempts,
        event=cut_json(dict(event)),
        output=cut_json(output),
        error=cut_json(error),
        began_at=began_at,
        called_at=began_at,
        ended_at=ended_at,
    )


def is_version_in_use(scope: Scope, version_id: str) -> bool:
    """Return whether a running run uses this version."""
    query = scope.select(skill_runs.c.run_id).where(
        skill_runs.c.version_id == version_id, skill_runs.c.status == "running"
    )
    return scope.first(query.limit(1)) is not None


def list_hashes_in_use(scope: Scope, stem: str) -> frozenset[str]:
    """Return the SHA-256 of each version of a skill that a running run uses."""
    going_on = scope.select(skill_runs.c.version_id).where(
        skill_runs.c.skill_id == stem, skill_runs.c.status == "running"
    )
    query = scope.select(skill_versions.c.sha).where(skill_versions.c.id.in_(going_on))
    return frozenset(row.sha for row in scope.rows(query))


def list_quiet_runs(scope: Scope, before: datetime, limit: int = 100) -> list[SkillRun]:
    """List running runs that the engine has not called since `before`, longest silent first."""
    query = scope.select(skill_runs).where(skill_runs.c.status == "running", skill_runs.c.called_at < before)
    return [_as_run(row) for row in scope.rows(query.order_by(skill_runs.c.called_at).limit(limit))]


def list_skill_runs(
    scope: Scope, stem: str, limit: int = 20, *, before: datetime | None = None, function_id: str | None = None
) -> list[SkillRun]:
    """List the runs of a skill, newest first."""
    query = scope.select(skill_runs).where(skill_runs.c.skill_id == stem)
    if before is not None:
        query = query.where(skill_runs.c.began_at < before)
    if function_id is not None:
        query = query.where(skill_runs.c.function_id == function_id)
    newest = query.order_by(skill_runs.c.began_at.desc(), skill_runs.c.run_id.desc()).limit(limit)
    return [_as_run(row) for row in scope.rows(newest)]


def list_completed_runs(scope: Scope, version_id: str, limit: int) -> list[SkillRun]:
    """Return the newest successful runs of a version, used to rehearse a change."""
    return _list_successful(scope, skill_runs.c.version_id == version_id, limit)


def find_last_completed_run(scope: Scope, stem: str) -> SkillRun | None:
    """Return the newest successful run of a skill, on any of its versions."""
    return next(iter(_list_successful(scope, _of_current_skill(scope, stem), 1)), None)


def has_history(scope: Scope, stem: str) -> bool:
    """Return whether any run of this skill has completed or failed."""
    query = scope.select(skill_runs.c.run_id).where(
        _of_current_skill(scope, stem),
        skill_runs.c.status.in_(("completed", "failed")),
        skill_runs.c.stage.not_in(_NEVER_RAN),
    )
    return scope.first(query.limit(1)) is not None


def count_runs_by_status(scope: Scope, version_id: str, stage: str, since: datetime | None = None) -> dict[str, int]:
    """Count the runs of a version in a stage by status, failure handlers left out; all, or those begun since then."""
    query = scope.select(skill_runs.c.status, sa.func.count(skill_runs.c.run_id).label("n")).where(
        skill_runs.c.version_id == version_id, skill_runs.c.stage == stage, _is_no_handler()
    )
    if since is not None:
        query = query.where(skill_runs.c.began_at >= since)
    return {row.status: int(row.n) for row in scope.rows(query.group_by(skill_runs.c.status))}


def count_failures_in_a_row(scope: Scope, version_id: str, function_id: str, most: int) -> int:
    """Count the failed runs of a function on a version since its last success, up to `most`."""
    query = scope.select(skill_runs.c.status).where(
        skill_runs.c.version_id == version_id,
        skill_runs.c.function_id == function_id,
        skill_runs.c.status.in_(("completed", "failed")),
        skill_runs.c.stage.not_in((*_NEVER_RAN, LIMITED)),
    )
    newest_first = query.order_by(skill_runs.c.ended_at.desc(), skill_runs.c.run_id.desc())
    newest = [row.status for row in scope.rows(newest_first.limit(most))]
    return newest.index("completed") if "completed" in newest else len(newest)


def compute_rates(scope: Scope, stem: str, since: datetime, *, version_id: str | None = None) -> RunRates:
    """Compute rates over the ended runs that began since then, without failure handlers and skipped runs."""
    query = scope.select(skill_runs).where(
        skill_runs.c.skill_id == stem,
        skill_runs.c.began_at >= since,
        skill_runs.c.status != "running",
        skill_runs.c.stage != SKIPPED,
        _is_no_handler(),
    )
    if version_id is not None:
        query = query.where(skill_runs.c.version_id == version_id)
    found = [_as_run(row) for row in scope.rows(query)]
    by_status = {status: sum(run.status == status for run in found) for status in ("completed", "failed")}
    judged = sum(by_status.values())
    took = [(run.ended_at - run.began_at).total_seconds() for run in found if run.ended_at is not None]
    return RunRates(
        completed=by_status["completed"],
        failed=by_status["failed"],
        other=len(found) - judged,
        success=by_status["completed"] / judged if judged else None,
        median_seconds=statistics.median(took) if took else None,
        retries=sum(max(0, run.attempts - 1) for run in found),
    )


def cut_json(value: Any) -> Any:
    """Return a JSON value as it is stored; a large one is replaced by its size and beginning."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    size = len(text.encode("utf-8", "replace"))
    if size <= MAX_JSON_BYTES:
        return value
    return {"cut": True, "bytes": size, "beginning": text[:2000]}


def is_cut_json(value: Any) -> bool:
    """Return whether a stored value is only the beginning of a larger one."""
    return isinstance(value, Mapping) and value.get("cut") is True and "beginning" in value


def _list_successful(scope: Scope, of: sa.ColumnElement[bool], limit: int) -> list[SkillRun]:
    ended_well = (skill_runs.c.status == "completed") & (skill_runs.c.stage != SKIPPED)
    query = scope.select(skill_runs).where(of, ended_well, _is_no_handler())
    newest = query.order_by(skill_runs.c.ended_at.desc(), skill_runs.c.run_id.desc()).limit(limit)
    return [_as_run(row) for row in scope.rows(newest)]


def _of_current_skill(scope: Scope, stem: str) -> sa.ColumnElement[bool]:
    """Match runs of this skill, but not of a deleted skill with the same name."""
    gone = scope.select(skill_versions.c.id).where(
        skill_versions.c.skill_id == stem, skill_versions.c.stage == "retired"
    )
    return (skill_runs.c.skill_id == stem) & skill_runs.c.version_id.not_in(gone)


def _is_no_handler() -> sa.ColumnElement[bool]:
    return sa.not_(skill_runs.c.handler)


def _as_run(row: sa.Row[Any]) -> SkillRun:
    fields = dict(row._mapping)
    fields.pop("workspace_id")
    return SkillRun(**fields)

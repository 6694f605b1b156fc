"""Runs of skills: which version each began on, how it ended, and how a skill does over time."""

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
"""Bytes of an event, output or error that are kept whole; of a larger one its beginning."""

UNSERVED = "unserved"
"""The stage of a run that ended while nobody served it."""
LIMITED = "limited"
"""The stage of a run that failed while a limit of its skill was reached."""
SKIPPED = "skipped"
"""The stage of a run that the start guard ended before the skill heard of it."""
_NEVER_RAN = (UNSERVED, SKIPPED)

EndStatus = Literal["completed", "failed", "cancelled", "lost"]


@dataclass(frozen=True)
class SkillRun:
    """`status` is `running` or how it ended.

    `stage` is `live`, `canary` where it runs on a candidate, or `unserved`: it ended before the skill was called for
    it, or the engine gave up because nobody answered. Such a run counts among those of its version, and speaks neither
    for nor against that; nor does one that is `limited`: it failed while a limit of its skill was reached. One that is
    `skipped` was not to begin and ended at once; it counts nowhere.

    `handler` tells that the function hears of another's failures (its `on_failure`): its runs do not count either.
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
    """How the ended runs did since a moment; `success` of completed and failed ones, None where there is none."""

    completed: int
    failed: int
    other: int
    success: float | None
    median_seconds: float | None
    retries: int

    @property
    def ended(self) -> int:
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
    """The run goes on with this version until it ends; one that began before keeps the version it has."""
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
    row = scope.first(scope.select(skill_runs).where(skill_runs.c.run_id == run_id))
    return None if row is None else _as_run(row)


def record_run_call(scope: Scope, run_id: str) -> None:
    """The engine called for it just now."""
    scope.change(scope.update(skill_runs).where(skill_runs.c.run_id == run_id).values(called_at=scope.now))


def goes_on(scope: Scope, run_id: str) -> None:
    """The engine goes on with a run that was thought to have ended. What was cancelled stays so."""
    before = (skill_runs.c.run_id == run_id) & skill_runs.c.status.in_(("completed", "failed", "lost"))
    anew = {"status": "running", "output": None, "error": None, "ended_at": None}
    scope.change(scope.update(skill_runs).where(before).values(**anew))


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
    """How it ended, now or at a moment; False when it stands otherwise than as it `was`, or is not known."""
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
    """Keep a run that was never called for and has ended, once; False when it is known."""
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
    """Whether a run that has not ended goes on with this version."""
    query = scope.select(skill_runs.c.run_id).where(
        skill_runs.c.version_id == version_id, skill_runs.c.status == "running"
    )
    return scope.first(query.limit(1)) is not None


def list_hashes_in_use(scope: Scope, stem: str) -> frozenset[str]:
    """The SHA-256 of each version of a skill that a run goes on with."""
    going_on = scope.select(skill_runs.c.version_id).where(
        skill_runs.c.skill_id == stem, skill_runs.c.status == "running"
    )
    query = scope.select(skill_versions.c.sha).where(skill_versions.c.id.in_(going_on))
    return frozenset(row.sha for row in scope.rows(query))


def list_quiet_runs(scope: Scope, before: datetime, limit: int = 100) -> list[SkillRun]:
    """Running ones that nobody called for since then, the most quiet first."""
    query = scope.select(skill_runs).where(skill_runs.c.status == "running", skill_runs.c.called_at < before)
    return [_as_run(row) for row in scope.rows(query.order_by(skill_runs.c.called_at).limit(limit))]


def list_skill_runs(
    scope: Scope, stem: str, limit: int = 20, *, before: datetime | None = None, function_id: str | None = None
) -> list[SkillRun]:
    """The newest first."""
    query = scope.select(skill_runs).where(skill_runs.c.skill_id == stem)
    if before is not None:
        query = query.where(skill_runs.c.began_at < before)
    if function_id is not None:
        query = query.where(skill_runs.c.function_id == function_id)
    newest = query.order_by(skill_runs.c.began_at.desc(), skill_runs.c.run_id.desc()).limit(limit)
    return [_as_run(row) for row in scope.rows(newest)]


def list_completed_runs(scope: Scope, version_id: str, limit: int) -> list[SkillRun]:
    """The newest runs of a version that ended well: what a change to it is tried on."""
    return _list_successful(scope, skill_runs.c.version_id == version_id, limit)


def find_last_completed_run(scope: Scope, stem: str) -> SkillRun | None:
    """The newest run of a skill that ended well, on whichever of its versions."""
    return next(iter(_list_successful(scope, _of_current_skill(scope, stem), 1)), None)


def has_history(scope: Scope, stem: str) -> bool:
    """Whether any run of this skill has ended: it then has a history."""
    query = scope.select(skill_runs.c.run_id).where(
        _of_current_skill(scope, stem),
        skill_runs.c.status.in_(("completed", "failed")),
        skill_runs.c.stage.not_in(_NEVER_RAN),
    )
    return scope.first(query.limit(1)) is not None


def count_runs_by_status(scope: Scope, version_id: str, stage: str, since: datetime | None = None) -> dict[str, int]:
    """How many runs of a version began in a stage, ever or since then, by status; handlers of failures do not count."""
    query = scope.select(skill_runs.c.status, sa.func.count(skill_runs.c.run_id).label("n")).where(
        skill_runs.c.version_id == version_id, skill_runs.c.stage == stage, _is_no_handler()
    )
    if since is not None:
        query = query.where(skill_runs.c.began_at >= since)
    return {row.status: int(row.n) for row in scope.rows(query.group_by(skill_runs.c.status))}


def count_failures_in_a_row(scope: Scope, version_id: str, function_id: str, most: int) -> int:
    """How many runs of this function on this version failed since one completed, counted up to `most`."""
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
    """How the runs that began since then and have ended did; neither handlers of failures nor skipped ones count."""
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
    """JSON as it is kept: a large one is cut to its beginning."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    size = len(text.encode("utf-8", "replace"))
    if size <= MAX_JSON_BYTES:
        return value
    return {"cut": True, "bytes": size, "beginning": text[:2000]}


def is_cut_json(value: Any) -> bool:
    """Whether of what was kept there may be no more than the beginning."""
    return isinstance(value, Mapping) and value.get("cut") is True and "beginning" in value


def _list_successful(scope: Scope, of: sa.ColumnElement[bool], limit: int) -> list[SkillRun]:
    ended_well = (skill_runs.c.status == "completed") & (skill_runs.c.stage != SKIPPED)
    query = scope.select(skill_runs).where(of, ended_well, _is_no_handler())
    newest = query.order_by(skill_runs.c.ended_at.desc(), skill_runs.c.run_id.desc()).limit(limit)
    return [_as_run(row) for row in scope.rows(newest)]


def _of_current_skill(scope: Scope, stem: str) -> sa.ColumnElement[bool]:
    """Of the skill, and not of another one that bore its name before."""
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

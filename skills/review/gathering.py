"""The first half of a review: what happened, and whether the last change did what was predicted of it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from core.database import Scope
from core.errors import LoopwrightError, NotFoundError
from core.orchestrator.run_history import EngineRun
from runtime.tasks import tasks
from skills import book, runs, versions
from skills.review import alarms, changes, rows
from skills.review.comparison import Comparison, compare, prediction_of
from skills.review.facts import Facts, gather
from skills.review.handover import task_behind
from skills.review.history import MOST_RUNS, merged, of_engine
from skills.review.parts import ReviewParts
from skills.review.rows import Review
from skills.review.tunables import tunables
from skills.versions import Version

_log = logging.getLogger(__name__)
WINDOW = timedelta(days=28)
"""How far a review looks back; never further than to the moment when the version began to serve."""
PENDING = timedelta(days=7)
"""So long a change that was asked for may take to serve before it counts as never done."""


def gather_facts(parts: ReviewParts, workspace_id: str, review_id: str) -> str:
    """Store the facts of a review, once; answers its state."""
    with parts.database.reading(workspace_id) as scope:
        review = rows.get(scope, review_id)
        if review.state != "requested":
            return review.state
        version, before = _serving(scope, review.skill_id), rows.unproven(scope, review.skill_id)
        changed = _change_of(scope, before, version) if before is not None else None
        lately = changes.since(scope, review.skill_id, scope.now - WINDOW)
    if version is None:
        return _nothing_serves(parts, workspace_id, review_id)
    facts = _facts(parts, workspace_id, version)
    comparison = None
    if before is not None:
        since = facts if changed is None or changed.id == version.id else _facts(parts, workspace_id, changed)
        comparison = _compared(parts, workspace_id, before, changed, since)
    stored = {
        "facts": facts.model_dump(mode="json"),
        "constants": [
            {"constant": one.name, "value": one.value, "line": one.line, "higher_means": one.higher}
            for one in tunables(version.source)
        ],
        "changes": lately,
    }
    told: dict[str, Any] = {} if comparison is None else {"comparison": comparison.as_json()}
    with parts.database.transaction(workspace_id, "review.gathered") as scope:
        rows.move(scope, review_id, "gathered", was="requested", version_id=version.id, facts=stored, **told)
        return rows.get(scope, review_id).state


def _serving(scope: Scope, stem: str) -> Version | None:
    skill = book.find(scope, stem)
    return versions.get(scope, skill.version_id) if skill is not None and skill.serves and skill.version_id else None


def _nothing_serves(parts: ReviewParts, workspace_id: str, review_id: str) -> str:
    with parts.database.transaction(workspace_id, "review.gathered") as scope:
        rows.move(scope, review_id, "done", was="requested", verdict={"reason": "nothing of it serves"})
        return rows.get(scope, review_id).state


def _facts(parts: ReviewParts, workspace_id: str, version: Version) -> Facts:
    ids = [one for one in version.function_ids if not version.is_handler(one)]
    now = parts.database.clock.now()
    since = max(version.active_at or version.created_at, now - WINDOW)
    listed = _history(parts, version.skill_id, ids, since)
    with parts.database.reading(workspace_id) as scope:
        ledger = [run for one in ids for run in runs.of_skill(scope, version.skill_id, MOST_RUNS, function_id=one)]
        observed = merged(listed, ledger, version.id, since)
        raised = alarms.of_skill(scope, version.skill_id, version.id, since)
    return gather(version.skill_id, version.number, since, now, observed, raised)


def _history(parts: ReviewParts, stem: str, function_ids: Sequence[str], since: datetime) -> list[EngineRun]:
    """What the engine remembers; nothing where it does not answer, since the ledger has heard how each run ended."""
    try:
        return of_engine(parts.runs, stem, function_ids, since)
    except LoopwrightError as error:
        _log.warning("the review of %s goes by the ledger of runs alone: %s", stem, error)
        return []


def _change_of(scope: Scope, before: Review, serving: Version | None) -> Version | None:
    """The version that came of an earlier review's proposal and served; None when none has."""
    known = versions.listing(scope, before.skill_id, limit=50)
    for version in known if serving is not None else ():
        if version.active_at is None or version.active_at < before.at:
            continue
        task = task_behind(scope, version)
        if task is not None and task.id == before.task_id:
            return version
    return None


def _compared(
    parts: ReviewParts, workspace_id: str, before: Review, changed: Version | None, since: Facts
) -> Comparison | None:
    """None while the change that was asked for may still come."""
    assert before.prediction is not None
    if changed is None and not _given_up(parts, workspace_id, before):
        return None
    return compare(before.id, prediction_of(before.prediction), changed is not None, since)


def _given_up(parts: ReviewParts, workspace_id: str, before: Review) -> bool:
    if _age(parts.database.clock.now(), before) > PENDING:
        return True
    assert before.task_id is not None
    with parts.database.reading(workspace_id) as scope:
        try:
            return tasks.get_task(scope, before.task_id).status in tasks.ENDED_TASK_STATUSES
        except NotFoundError:
            return True


def _age(now: datetime, review: Review) -> timedelta:
    return now - review.at

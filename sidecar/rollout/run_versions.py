"""Versions of runs: a run goes on with the version it began with, whatever serves by now."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from core.database import Scope
from core.events import RunFailed
from sidecar.rollout.dependencies import SidecarDependencies
from skills.book import refusals, runs, schedule_claims, versions
from skills.book.refusals import RefusalKind
from skills.book.runs import EndStatus
from skills.book.skill import find_skill
from skills.book.versions import CheckedVersion
from skills.lifecycle import decision, promotion, run_end

_log = logging.getLogger(__name__)
_TIMER = "inngest/scheduled.timer"
SKILL_GONE = "the skill is gone or turned off"
# How long a run may be called before that is recorded again.
_CALLED_SECONDS = 20.0
_MOST_CACHED = 5000
# A moment in the year 9999; later ones do not fit into a datetime.
_LATEST_MS = 253_370_764_800_000


@dataclass(frozen=True)
class RunCall:
    """A call of the engine: a step of this run of this function."""

    run_id: str
    function_id: str
    event: Mapping[str, Any]


@dataclass(frozen=True)
class KnownAnswer:
    """The answer to a call that is not passed to the skill.

    The run may not begin, or it completed and the engine has lost its `output`.
    """

    output: Any


class RunVersions:
    """The runs of one skill. A run is recorded before the skill's process receives its first call.

    The engine decides whether a run goes on: when it calls for a run that is recorded as failed or cancelled, the run
    continues. Only a completed run is not repeated.

    `turnover` is held while another version takes over. `follow_soon` has the skill followed, since the end of a run
    may allow the rollout's next move.
    """

    def __init__(
        self,
        stem: str,
        dependencies: SidecarDependencies,
        turnover: AbstractContextManager[object],
        follow_soon: Callable[[], None],
    ) -> None:
        self._stem = stem
        self._dependencies = dependencies
        self._turnover = turnover
        self._follow_soon = follow_soon
        self._lock = threading.Lock()
        self._cache: dict[str, tuple[CheckedVersion, float]] = {}

    def version_for(self, call: RunCall) -> CheckedVersion | KnownAnswer | None:
        """Return the version that the run began or begins with, or a known answer; None when no version serves."""
        if (known := self._cached_version(call)) is not None:
            return known
        with self._turnover:
            return self._begin_run(call)

    def record_end(
        self,
        run_id: str,
        status: EndStatus,
        *,
        output: Any = None,
        error: Any = None,
        attempts: int = 0,
        served: bool = True,
    ) -> None:
        """Record how a run ended and what follows for its version; only the first end counts.

        `served` is False when the skill itself never had the chance to answer: that counts against no version.
        """
        with self._lock:
            self._cache.pop(run_id, None)
        with self._dependencies.transaction("skill-run") as scope:
            facts = {"output": output, "error": error, "attempts": attempts, "served": served}
            if not run_end.end_run(scope, run_id, status, most=self._dependencies.rules.failures, **facts):
                return
        # The rollout may go further now, and an older version may no longer be needed.
        self._follow_soon()

    def keep_memos(self, run_id: str, memos: Mapping[str, Any]) -> None:
        """Keep what the engine remembers of the steps of a completed run, to rehearse a change on it."""
        self._dependencies.keep_memos(self._stem, run_id, memos)

    def record_refusal(self, version: CheckedVersion, run_id: str, what: RefusalKind, detail: str) -> None:
        """Record that a run wanted something it may not have."""
        with self._dependencies.transaction("skill-refusal") as scope:
            kept = refusals.record_refusal(
                scope, skill_id=self._stem, version_id=version.id, run_id=run_id, what=what, detail=detail
            )
        # The number of stored refusals is limited, and so is the log.
        if kept is not None:
            _log.warning("skill %s refused: %s: %s", self._stem, what, detail[:500])

    def _cached_version(self, call: RunCall) -> CheckedVersion | None:
        """Return the version of a run that this process has seen before, and record the call from time to time."""
        with self._lock:
            found = self._cache.get(call.run_id)
        if found is None:
            return None
        version, called = found
        if time.monotonic() - called > _CALLED_SECONDS:
            self._cache_version(call.run_id, version)
            with self._dependencies.transaction("skill-run") as scope:
                runs.record_run_call(scope, call.run_id)
        return version

    def _begin_run(self, call: RunCall) -> CheckedVersion | KnownAnswer | None:
        """Find the recorded run, or record a new one with the version it begins on."""
        with self._dependencies.transaction("skill-run") as scope:
            run = runs.find_run(scope, call.run_id)
            if run is not None:
                version = versions.get_version(scope, run.version_id)
                runs.record_run_call(scope, call.run_id)
                if run.status == "completed" and not runs.is_cut_json(run.output):
                    return KnownAnswer(run.output)
                runs.goes_on(scope, call.run_id)
            else:
                chosen = self._choose_version(scope, call)
                if chosen is None:
                    # A scheduled run has no caller who needs an error, and the engine may not have heard yet that the
                    # skill is off.
                    return KnownAnswer({"skipped": SKILL_GONE}) if call.event.get("name") == _TIMER else None
                version, stage = chosen
                runs.record_run_start(
                    scope,
                    run_id=call.run_id,
                    skill_id=self._stem,
                    function_id=call.function_id,
                    version_id=version.id,
                    stage=stage,
                    event=call.event,
                    handler=version.is_handler(call.function_id),
                )
                if (why := self._why_skipped(scope, call)) is not None:
                    skipped = {"skipped": why}
                    runs.record_run_end(scope, call.run_id, "completed", output=skipped, stage=runs.SKIPPED)
                    return KnownAnswer(skipped)
        self._cache_version(call.run_id, version)
        return version

    def _choose_version(self, scope: Scope, call: RunCall) -> tuple[CheckedVersion, str] | None:
        """Choose the version and stage of a new run, from the book, since another process may have changed it."""
        skill = find_skill(scope, self._stem)
        if (failed := self._version_of_failed_run(scope, call)) is not None:
            return failed, "live"
        if skill is None or not skill.serves or skill.version_id is None:
            return None
        if skill.candidate_id is not None:
            candidate = versions.get_version(scope, skill.candidate_id)
            counted = promotion.count_first_runs(scope, candidate)
            begun = counted.get("running", 0) + counted.get("completed", 0)
            is_first = decision.begins_on_candidate(candidate.stage, begun, self._dependencies.rules.canary_runs)
            if is_first and not counted.get("failed") and call.function_id in candidate.function_ids:
                return candidate, "canary"
        serving = versions.get_version(scope, skill.version_id)
        if call.function_id not in serving.function_ids:
            # The engine began the run before it heard that the function is gone.
            older = versions.find_serving_version(scope, self._stem, call.function_id)
            return (older, "live") if older is not None else (serving, "live")
        return serving, "live"

    def _version_of_failed_run(self, scope: Scope, call: RunCall) -> CheckedVersion | None:
        """Return the version whose run failed, if this call is for its failure handler."""
        data = call.event.get("data")
        if call.event.get("name") != RunFailed.name or not isinstance(data, dict):
            return None
        failed = runs.find_run(scope, str(data.get("run_id", "")))
        if failed is None or failed.skill_id != self._stem:
            return None
        version = versions.get_version(scope, failed.version_id)
        return version if call.function_id in version.function_ids else None

    def _why_skipped(self, scope: Scope, call: RunCall) -> str | None:
        """Return why a scheduled run may not begin, because another one ran on its date already; None when it may."""
        data = call.event.get("data")
        if call.event.get("name") != _TIMER or not isinstance(data, dict):
            return None
        at = _schedule_moment(call.event, data) or scope.now
        start = schedule_claims.find_start(str(data.get("cron", "")), at)
        if start is None or schedule_claims.claim_start(scope, self._stem, call.function_id, start, call.run_id):
            return None
        _log.info("skill %s: %s ran on %s already", self._stem, call.function_id, start.date)
        return f"ran on {start.date} already"

    def _cache_version(self, run_id: str, version: CheckedVersion) -> None:
        with self._lock:
            self._cache[run_id] = (version, time.monotonic())
            while len(self._cache) > _MOST_CACHED:
                self._cache.pop(next(iter(self._cache)))


def _schedule_moment(event: Mapping[str, Any], data: Mapping[str, Any]) -> datetime | None:
    """Return the time for which the run was scheduled; the engine may call later than that."""
    for moment_text in (data.get("scheduledAt"), data.get("fireAt")):
        if isinstance(moment_text, str):
            try:
                moment = datetime.fromisoformat(moment_text)
            except ValueError:
                continue
            if moment.tzinfo is not None:
                return moment
    sent = event.get("ts")
    return datetime.fromtimestamp(sent / 1000, UTC) if isinstance(sent, int) and 0 < sent < _LATEST_MS else None
